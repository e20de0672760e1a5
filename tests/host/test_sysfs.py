"""A host through sysfs: what it reads, remembers and refuses."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.errors import ConfigSpaceError, ExitCode, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recorded_config import Unread
from pcietune.host.sysfs import SysfsHost
from pcietune.model.access import HostAccess
from pcietune.registers.acs import Acs, AcsControl
from pcietune.registers.fields import MaskedWrite

PORT = 3  # 0000:22:04.0, above the NIC
ACS_CONTROL = 0x106


def _live(host: TreeHost) -> SysfsHost:
    return SysfsHost(HostFiles(host.root, recorded=False))


def _recorded(host: TreeHost) -> SysfsHost:
    return SysfsHost(HostFiles(host.root, recorded=True))


def test_it_is_a_host_as_tune_knows_one(tmp_path: Path) -> None:
    host: HostAccess = _live(one_switch(tmp_path))

    assert len(host.functions()) == 6
    assert host.platform().kernel == "6.12.0-amd64"


def test_registers_are_read_through_the_functions_own_file(tmp_path: Path) -> None:
    host = _live(one_switch(tmp_path))

    acs = Acs.find(host.config(host.functions()[PORT]))

    assert acs is not None
    assert AcsControl.decode(acs.control) == AcsControl(0x1D)


def test_a_write_reaches_the_file(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = _live(tree)

    host.write(
        host.functions()[PORT], MaskedWrite(offset=ACS_CONTROL, width=2, value=0x40, mask=0x40)
    )

    assert tree.config("0000:22:04.0").read_bytes()[ACS_CONTROL:][:2] == b"\x5d\x00"


def test_what_was_read_is_not_read_twice(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = _live(tree)
    function = host.functions()[PORT]
    state = host.state(function)
    tree.put("sys/bus/pci/devices/0000:22:04.0/numa_node", "1")
    tree.put("proc/cmdline", "changed")

    assert host.state(function) is state
    assert host.config(function) is host.config(function)
    assert host.platform() is host.platform()


@pytest.mark.parametrize("recorded", [False, True], ids=["live", "recorded"])
def test_a_function_in_d3cold_is_not_woken(tmp_path: Path, *, recorded: bool) -> None:
    tree = TreeHost(tmp_path)
    tree.add(replace(nic("0000:0b:00.0"), attributes={"power_state": "D3cold"}))
    tree.config("0000:0b:00.0").unlink()  # whoever opened it would say that it vanished
    host = SysfsHost(HostFiles(tmp_path, recorded=recorded))

    with pytest.raises(ConfigSpaceError) as raised:
        host.config(host.functions()[0])

    assert str(raised.value) == "0000:0b:00.0 is in D3cold and is not woken to be looked at"
    assert raised.value.hint.startswith("wake it: echo on > /sys/bus/pci/devices/0000:0b:00.0/")
    assert raised.value.exit_code == ExitCode.UNREADABLE


def test_a_function_in_d3hot_is_read(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    tree.add(replace(nic("0000:0b:00.0"), attributes={"power_state": "D3hot"}))
    host = _live(tree)

    assert host.config(host.functions()[0]).read(0, 2) == 0x15B3


def test_a_recording_of_64_bytes_was_not_made_by_root(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    function = nic("0000:0b:00.0")
    tree.add(replace(function, config=function.config.cut(64)))
    host = _recorded(tree)

    with pytest.raises(NotPermittedError) as raised:
        Acs.find(host.config(host.functions()[0]))

    assert str(raised.value) == "0000:0b:00.0: only the first 64 bytes were recorded"
    assert raised.value.hint == "record the host again as root"
    assert raised.value.exit_code == ExitCode.NOT_PERMITTED


def test_a_recording_that_was_cut_off_is_not_read_as_zeros(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    function = nic("0000:0b:00.0")
    tree.add(replace(function, config=function.config.cut(0x102)))
    host = _recorded(tree)

    with pytest.raises(
        ConfigSpaceError, match=r"at 0x100 was not recorded: the file ends at 0x102"
    ):
        Acs.find(host.config(host.functions()[0]))


def test_what_was_not_recorded_is_an_error_though_the_file_has_bytes_there(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    files = HostFiles(tree.root, recorded=True)
    function = SysfsHost(files).functions()[PORT]
    host = SysfsHost(files, unread={function.address: Unread(((0x106, 0x108),), "it was busy")})
    config = host.config(function)
    before = config.read(0x104, 2)

    with pytest.raises(ConfigSpaceError) as raised:
        config.read(0x104, 4)

    assert before == 0x5F
    assert str(raised.value) == (
        "0000:22:04.0: Configuration Space at 0x104 was not recorded: it was busy"
    )


def test_the_live_host_says_whether_its_user_is_root_and_a_recording_asks_nobody(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)

    assert _recorded(tree).privileged
    assert (_recorded(tree).recorded, _live(tree).recorded) == (True, False)
