"""The fuzzer of whole hosts would see a wrong pass if there were one."""

from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.whole_hosts import WrongPassError, check, check_pass
from trees.function import ACS_CAPABLE, downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, finding, judged

from pcietune.errors import ExitCode
from pcietune.model.finding import State

ACS_CONTROL = 0x106  # of the trees' ports, in bytes; 16 bits
FUNCTIONS = (ROOT_PORT, "0000:21:00.0", GPU_PORT, NIC_PORT, GPU, NIC)


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    tuned = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0x005D))
    return one_switch(tmp_path, instead=[tuned])


def _registers(tree: TreeHost) -> dict[str, bytes]:
    return {address: tree.config(address).read_bytes() for address in FUNCTIONS}


def _with(registers: dict[str, bytes], address: str, offset: int, byte: int) -> dict[str, bytes]:
    data = bytearray(registers[address])
    data[offset] = byte
    return registers | {address: bytes(data)}


def test_a_host_as_wanted_is_none(tree: TreeHost) -> None:
    audited = judged(tree)

    assert audited.exit_code() is ExitCode.OK
    check(audited, _registers(tree))


@pytest.mark.parametrize(
    ("finding_id", "address", "offset", "byte"),
    [
        ("port.nic-side.DirectTrans", NIC_PORT, ACS_CONTROL, 0x1D),
        ("port.gpu-side.ReqRedir", GPU_PORT, ACS_CONTROL, 0x19),
        ("port.gpu-side.EgressCtrl", GPU_PORT, ACS_CONTROL, 0x3D),
        ("port.upstream.TransBlk", ROOT_PORT, ACS_CONTROL, 0x1F),
        ("port.nic-side.DirectTrans", NIC_PORT, 0x100, 0x0E),  # no ACS any more
        ("port.upstream.TransBlk", ROOT_PORT, 0x34, 0x41),  # a list that nobody can read
        ("nic.ats", NIC, None, 0),
        ("device.relaxed-ordering", GPU, None, 0),
    ],
)
def test_a_pass_that_the_registers_deny_is_one(
    tree: TreeHost, finding_id: str, address: str, offset: int | None, byte: int
) -> None:
    passed = finding(judged(tree), finding_id, address)
    assert passed.state is State.PASS
    registers = _registers(tree)
    changed = (
        registers | {address: bytes(len(registers[address]))}
        if offset is None
        else _with(registers, address, offset, byte)
    )

    check_pass(passed, registers)
    with pytest.raises(WrongPassError, match=finding_id):
        check_pass(passed, changed)


def test_isolation_that_the_registers_deny_is_one(tree: TreeHost) -> None:
    passed = finding(judged(tree), "group.isolation", "0000:21:00.0")

    with pytest.raises(WrongPassError, match=r"group\.isolation"):
        check_pass(passed, _with(_registers(tree), GPU_PORT, ACS_CONTROL, 0x19))


def test_a_bit_that_nobody_judged_is_one_if_the_exit_code_is_0(tree: TreeHost) -> None:
    audited = judged(tree)
    silent = replace(audited, findings=())

    with pytest.raises(WrongPassError, match="exit 0"):
        check(silent, _with(_registers(tree), NIC_PORT, ACS_CONTROL, 0x1D))
