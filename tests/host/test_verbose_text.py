"""``lspci -vvv`` without bytes: what it tells is as good as bytes, and the rest is not known."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from host.dumped import opened, printed, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.fabrics import cascade_functions
from trees.function import Function

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError
from pcietune.host.dumps.verbose.names import named_ids
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction
from pcietune.registers.acs import Acs
from pcietune.registers.ats import Ats
from pcietune.registers.device_control import DeviceControl
from pcietune.registers.express import Express

_PORT = PciAddress.parse("0000:22:04.0")
_NIC = PciAddress.parse("0000:24:00.0")


def _decoded(host: SysfsHost) -> list[object]:
    """Return what both kinds of text tell: places, kinds of port, ACS bits, ATS, payloads."""
    told: list[object] = []
    for function in host.functions():
        config = host.config(function)
        express, acs, ats = Express.find(config), Acs.find(config), Ats.find(config)
        control = DeviceControl.find(config)
        told.append((function.address, function.ports, function.id, function.device_class))
        if express is not None:
            told.append((express.port_type, express.link.code, express.link.lanes))
        if acs is not None:
            told.append((acs.offset, acs.supported, acs.enabled))
        if ats is not None:
            told.append((ats.offset, ats.enabled, ats.invalidate_queue_depth))
        if control is not None:
            told.append((control.max_payload, control.relaxed_ordering))
    return told


@pytest.mark.parametrize("make", [one_switch_functions, cascade_functions])
def test_text_tells_what_the_bytes_do(tmp_path: Path, make: Callable[[], list[Function]]) -> None:
    text = dump(make())
    verbose = printed(tmp_path, text, "-nn", "-vvv")

    with opened(tmp_path, text) as host:
        by_bytes = _decoded(host)
    with opened(tmp_path, verbose) as host:
        by_text = _decoded(host)

    assert by_text == by_bytes


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(on=st.integers(0, 0x7F))
def test_each_acs_bit_is_read_as_lspci_prints_it(tmp_path: Path, on: int) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")
    names = ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir"]
    names += ["UpstreamFwd", "EgressCtrl", "DirectTrans"]
    words = " ".join(f"{n}{'+' if on >> bit & 1 else '-'}" for bit, n in enumerate(names))

    with opened(tmp_path, re.sub(r"ACSCtl:\t.*", f"ACSCtl:\t{words}", verbose)) as host:
        acs = _acs(host, _PORT)
        assert acs.enabled.value == on


def test_bits_that_lspci_has_no_name_for_are_not_known(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")

    with opened(tmp_path, verbose) as host, pytest.raises(ConfigSpaceError, match="not told"):
        _ = _acs(host, _PORT).enhanced


def test_what_v_alone_prints_leaves_acs_unread_not_off(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-v")

    with opened(tmp_path, verbose) as host, pytest.raises(ConfigSpaceError, match="lspci -vvv"):
        _ = _acs(host, _PORT).enabled


def test_access_denied_is_not_permitted(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions(), size=64), "-nn", "-vvv")

    with opened(tmp_path, verbose) as host, pytest.raises(NotPermittedError, match="64 bytes"):
        _acs(host, _PORT)


def test_without_ids_a_device_is_not_guessed(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-vvv")

    with opened(tmp_path, verbose) as host:
        nic = next(f for f in host.functions() if f.address == _NIC)

    assert nic.id == "15b3:????"
    assert not nic.is_id_told


def test_ids_that_lspci_has_no_name_for_are_told_without_nn() -> None:
    beside_a_name = "0000:23:00.0 3D controller: NVIDIA Corporation Device 2bb5 (rev a1)"
    alone = "0000:23:00.0 Class [1234]: Device 10de:2bb5 (rev ff)"

    assert named_ids(beside_a_name) == (0x0302, 0x10DE, 0x2BB5)
    assert named_ids(alone) == (0x1234, 0x10DE, 0x2BB5)
    assert named_ids("0000:23:00.0 Unassigned class [ff00]: Device 1ff2:0001")[0] == 0xFF00


def test_every_class_is_known_by_the_name_that_lspci_prints(tmp_path: Path) -> None:
    codes = [0x0104, 0x0207, 0x0302, 0x0380, 0x0604, 0x0B40, 0x0C80, 0x1180, 0x1200, 0x1300, 0x4000]
    functions = [
        Function(f"0000:00:{number:02x}.0", ConfigBuilder("1234:5678", code << 8))
        for number, code in enumerate(codes)
    ]
    lines = printed(tmp_path, dump(functions)).splitlines()

    assert [named_ids(line)[0] for line in lines] == codes


def test_a_class_that_nobody_knows_may_be_a_gpus(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-vvv")

    with opened(tmp_path, verbose.replace("3D controller", "Quantum controller")) as host:
        (problem,) = host.problems

    assert "0000:23:00.0 may be is not told" in problem


@pytest.mark.parametrize("name", ["#0d", "Access Controls <?>", "Extended Capability ID 0xd"])
def test_acs_that_lspci_has_no_words_for_is_there_and_unread(tmp_path: Path, name: str) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")
    old = re.sub(r"Access Control Services\n.*\n.*", name, verbose)

    with opened(tmp_path, old) as host, pytest.raises(ConfigSpaceError, match="was not recorded"):
        _ = _acs(host, _PORT).enabled


def test_nothing_extended_below_a_port_that_has_some_is_none(tmp_path: Path) -> None:
    bare = Function("0000:24:00.0", ConfigBuilder("15b3:101b", 0x020700).express(ENDPOINT))
    functions = [*one_switch_functions()[:-1], replace(bare, below="0000:22:04.0")]
    by_root = printed(tmp_path, dump(functions), "-nn", "-vvv")
    without_ecam = printed(tmp_path, dump(functions, size=256), "-nn", "-vvv")

    with opened(tmp_path, by_root) as host:
        assert Ats.find(host.config(_function(host, _NIC))) is None
    with opened(tmp_path, without_ecam) as host:
        config = host.config(_function(host, _NIC))
        with pytest.raises(ConfigSpaceError, match="there is none, or it could not read any"):
            Ats.find(config)


def test_capabilities_that_were_cut_out_of_the_text_are_unread(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")
    cut = re.sub(r"\tCapabilities: .*\n(?:\t\t.*\n)*", "", verbose)

    with opened(tmp_path, cut) as host:
        config = host.config(_function(host, _PORT))
        with pytest.raises(ConfigSpaceError, match="none is in the text"):
            Acs.find(config)


@pytest.mark.parametrize(
    "damage",
    [
        ("Port #0", "Port #999"),
        ("Width x16", "Width x99999"),
        ("(v2)", "(v99)"),
    ],
)
def test_numbers_that_no_register_holds_are_unread(tmp_path: Path, damage: tuple[str, str]) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")

    with opened(tmp_path, verbose.replace(*damage)) as host:
        assert len(host.functions()) == len(one_switch_functions())


def test_bus_numbers_that_are_none_leave_no_bridge(tmp_path: Path) -> None:
    verbose = printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")

    assert "no bridge here leads to bus 23" in refused(
        tmp_path, verbose.replace("primary=22", "primary=_2")
    )


def _function(host: SysfsHost, address: PciAddress) -> PciFunction:
    return next(f for f in host.functions() if f.address == address)


def _acs(host: SysfsHost, address: PciAddress) -> Acs:
    acs = Acs.find(host.config(_function(host, address)))
    assert acs is not None
    return acs
