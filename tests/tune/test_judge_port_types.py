"""Bridges that do not say what kind of port they are, or say what cannot be."""

from pathlib import Path

import pytest
from trees.config import (
    DOWNSTREAM_PORT,
    ENDPOINT,
    PCIE_TO_PCI_BRIDGE,
    ROOT_PORT,
    UPSTREAM_PORT,
)
from trees.machines import one_switch
from tune import judged
from tune.judged import GPU_PORT, NIC_PORT, finding

from pcietune.errors import ExitCode
from pcietune.model.finding import State
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.judge_ports import JudgedBit

UPSTREAM = "0000:21:00.0"
PORT_TYPE_AT = 0x4A  # of the trees' functions: PCI Express Capabilities, 16 bits; type in 7:4


def _says(tmp_path: Path, address: str, port_type: int) -> Audit:
    tree = one_switch(tmp_path)
    with tree.config(address).open("r+b") as registers:
        registers.seek(PORT_TYPE_AT)
        registers.write(bytes([port_type << 4 | 2]))
    return judged.judged(tree)


@pytest.mark.parametrize("port_type", [ENDPOINT, PCIE_TO_PCI_BRIDGE, ROOT_PORT])
@pytest.mark.parametrize("address", [GPU_PORT, NIC_PORT])
def test_a_port_that_says_what_cannot_be_is_an_error_and_owes_what_its_place_owes(
    tmp_path: Path, address: str, port_type: int
) -> None:
    audited = _says(tmp_path, address, port_type)

    found = finding(audited, "port.type", address)
    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)
    assert f"({port_type:#x})" in found.reason
    assert {b.requirement.want.control for b in audited.bits if _is_at(b, address)} == {
        b.requirement.want.control
        for b in judged.judged(one_switch(tmp_path / "right")).bits
        if _is_at(b, address)
    }


@pytest.mark.parametrize("port_type", [ENDPOINT, UPSTREAM_PORT])
def test_a_root_port_that_says_it_is_something_else_is_an_error(
    tmp_path: Path, port_type: int
) -> None:
    audited = _says(tmp_path, judged.ROOT_PORT, port_type)

    assert finding(audited, "port.type", judged.ROOT_PORT).state is State.ERROR
    assert finding(audited, "port.upstream.ReqRedir", judged.ROOT_PORT).state is State.PASS


def test_an_upstream_port_that_says_it_is_an_endpoint_still_has_its_switch_group(
    tmp_path: Path,
) -> None:
    audited = _says(tmp_path, UPSTREAM, ENDPOINT)

    assert [str(group.top.address) for group in audited.groups] == [UPSTREAM]
    assert finding(audited, "port.type", UPSTREAM).state is State.ERROR


def test_ports_that_are_mixed_up_as_linux_corrects_them_are_no_error(tmp_path: Path) -> None:
    audited = _says(tmp_path, UPSTREAM, DOWNSTREAM_PORT)

    assert [f for f in audited.findings if f.id == "port.type"] == []
    assert [str(group.top.address) for group in audited.groups] == [UPSTREAM]


def _is_at(bit: JudgedBit, address: str) -> bool:
    return str(bit.requirement.placed.port.address) == address
