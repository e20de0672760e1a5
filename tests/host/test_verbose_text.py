"""``lspci -vvv`` without bytes: what it tells is as good as bytes, and the rest is not known."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from host.dumped import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees.dump import dump, one_switch_functions
from trees.fabrics import cascade_functions
from trees.function import Function

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError
from pcietune.host.sysfs import SysfsHost
from pcietune.registers.acs import Acs
from pcietune.registers.ats import Ats
from pcietune.registers.device_control import DeviceControl
from pcietune.registers.express import Express

_PORT = PciAddress.parse("0000:22:04.0")
_NIC = PciAddress.parse("0000:24:00.0")


def _printed(directory: Path, text: str, *arguments: str) -> str:
    file = directory / "dump"
    file.write_text(text)
    command = ["lspci", "-D", *arguments, "-F", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
    verbose = _printed(tmp_path, text, "-nn", "-vvv")

    with opened(tmp_path, text) as host:
        by_bytes = _decoded(host)
    with opened(tmp_path, verbose) as host:
        by_text = _decoded(host)

    assert by_text == by_bytes


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(on=st.integers(0, 0x7F))
def test_each_acs_bit_is_read_as_lspci_prints_it(tmp_path: Path, on: int) -> None:
    verbose = _printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")
    names = ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir"]
    names += ["UpstreamFwd", "EgressCtrl", "DirectTrans"]
    words = " ".join(f"{n}{'+' if on >> bit & 1 else '-'}" for bit, n in enumerate(names))

    with opened(tmp_path, re.sub(r"ACSCtl:\t.*", f"ACSCtl:\t{words}", verbose)) as host:
        acs = _acs(host, _PORT)
        assert acs.enabled.value == on


def test_bits_that_lspci_has_no_name_for_are_not_known(tmp_path: Path) -> None:
    verbose = _printed(tmp_path, dump(one_switch_functions()), "-nn", "-vvv")

    with opened(tmp_path, verbose) as host, pytest.raises(ConfigSpaceError, match="not told"):
        _ = _acs(host, _PORT).enhanced


def test_what_v_alone_prints_leaves_acs_unread_not_off(tmp_path: Path) -> None:
    verbose = _printed(tmp_path, dump(one_switch_functions()), "-nn", "-v")

    with opened(tmp_path, verbose) as host, pytest.raises(ConfigSpaceError, match="lspci -vvv"):
        _ = _acs(host, _PORT).enabled


def test_access_denied_is_not_permitted(tmp_path: Path) -> None:
    verbose = _printed(tmp_path, dump(one_switch_functions(), size=64), "-nn", "-vvv")

    with opened(tmp_path, verbose) as host, pytest.raises(NotPermittedError, match="64 bytes"):
        _acs(host, _PORT)


def test_without_ids_a_device_is_not_guessed(tmp_path: Path) -> None:
    verbose = _printed(tmp_path, dump(one_switch_functions()), "-vvv")

    with opened(tmp_path, verbose) as host:
        nic = next(f for f in host.functions() if f.address == _NIC)

    assert nic.id == "15b3:ffff"


def _acs(host: SysfsHost, address: PciAddress) -> Acs:
    function = next(f for f in host.functions() if f.address == address)
    acs = Acs.find(host.config(function))
    assert acs is not None
    return acs
