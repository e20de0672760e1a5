"""The list of functions: links tell the fabric, one uevent file tells the rest."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from host.hindered import as_nobody
from trees.config import ENDPOINT, ROOT_PORT, ConfigBuilder
from trees.function import Function, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.host.functions import Listing, list_functions
from pcietune.host.host_files import HostFiles


def _listed(host: TreeHost, *, recorded: bool = False) -> Listing:
    return list_functions(HostFiles(host.root, recorded=recorded))


def test_functions_come_in_the_order_of_addresses(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(gpu("10000:01:00.0"), gpu("0001:01:00.0"), gpu("0000:a0:00.0"), gpu("0000:0a:00.0"))

    addresses = [str(function.address) for function in _listed(host).functions]

    assert addresses == ["0000:0a:00.0", "0000:a0:00.0", "0001:01:00.0", "10000:01:00.0"]


def test_the_ports_above_a_function_are_those_of_its_path(tmp_path: Path) -> None:
    functions = _listed(one_switch(tmp_path)).functions

    by_address = {str(function.address): function for function in functions}
    assert by_address["0000:20:01.0"].ports == ()
    assert by_address["0000:24:00.0"].location == "0000:20:01.0/00.0/04.0/00.0"


def test_identity_class_and_driver_are_those_of_the_uevent(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(gpu("0000:0a:00.0", driver="nvidia"), nic("0000:0b:00.0"))

    first, second = _listed(host).functions

    assert (first.id, first.class_code, first.driver) == ("10de:20f3", 0x030200, "nvidia")
    assert (first.subsystem_vendor, first.subsystem_device) == (0x10DE, 0x179B)
    assert (second.id, second.class_code, second.driver) == ("15b3:101b", 0x020700, None)


def test_a_domain_may_have_five_digits_below_intel_vmd(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(root_port("0000:00:0e.0"))
    vmd = host.directory("0000:00:0e.0").relative_to(tmp_path)
    host.put(
        f"{vmd}/pci10000:00/10000:00:02.0/uevent",
        "PCI_CLASS=60400\nPCI_ID=8086:347A\nPCI_SUBSYS_ID=0:0",
    )
    disk = f"{vmd}/pci10000:00/10000:00:02.0/10000:01:00.0"
    host.put(f"{disk}/uevent", "PCI_CLASS=10802\nPCI_ID=8086:0A54\nPCI_SUBSYS_ID=8086:4712")
    host.link("sys/bus/pci/devices/10000:01:00.0", str(disk))

    function = _listed(host).functions[-1]

    assert function.location == "10000:00:02.0/00.0"


@pytest.mark.parametrize("domain", ["1f392", "8f2c1a05"])
def test_a_domain_of_a_cloud_has_up_to_eight_digits(tmp_path: Path, domain: str) -> None:
    host = TreeHost(tmp_path)
    host.add(nic(f"{domain}:00:02.0"))

    (function,) = _listed(host).functions

    assert function.address == PciAddress(int(domain, 16), 0, 2, 0)
    assert function.location == f"{domain}:00:02.0"


def test_a_function_that_vanishes_is_left_out_without_a_word(tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    (tmp_path / "sys/bus/pci/devices/0000:24:00.0").unlink()

    listed = _listed(host)

    assert len(listed.functions) == 5
    assert listed.problems == ()


@pytest.mark.parametrize(
    "uevent",
    [
        pytest.param("", id="empty"),
        pytest.param("PCI_CLASS=30200\nPCI_SUBSYS_ID=0:0", id="no PCI_ID"),
        pytest.param("PCI_CLASS=30200\nPCI_ID=10DE\nPCI_SUBSYS_ID=0:0", id="half an ID"),
        pytest.param("PCI_CLASS=red\nPCI_ID=10DE:20F3\nPCI_SUBSYS_ID=0:0", id="no number"),
    ],
)
def test_a_function_that_makes_no_sense_is_named_beside_the_others(
    tmp_path: Path, uevent: str
) -> None:
    host = one_switch(tmp_path)
    (host.directory("0000:23:00.0") / "uevent").write_text(uevent)

    listed = _listed(host)

    assert len(listed.functions) == 5
    assert listed.problems == (
        "/sys/bus/pci/devices/0000:23:00.0 is not what the kernel makes of a PCI function",
    )


def test_an_odd_name_among_the_functions_is_named_beside_them(tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.link("sys/bus/pci/devices/backup", "sys/devices/pci0000:20/0000:20:01.0")

    listed = _listed(host)

    assert len(listed.functions) == 6
    assert len(listed.problems) == 1


def test_a_host_without_pci_has_no_functions(tmp_path: Path) -> None:
    (tmp_path / "sys/bus").mkdir(parents=True)

    listed = list_functions(HostFiles(tmp_path, recorded=False))

    assert (listed.functions, listed.problems) == ((), ())


@pytest.mark.parametrize("kept", ["sys/bus/pci/devices", "sys/bus"])
def test_where_this_user_may_not_look_nobody_knows_that_there_is_no_function(
    tmp_path: Path, kept: str
) -> None:
    host = one_switch(tmp_path)
    (tmp_path / kept).chmod(0o000)

    with as_nobody(), pytest.raises(NotPermittedError, match="may not be read: Permission denied"):
        _listed(host)

    (tmp_path / kept).chmod(0o755)


def test_without_sysfs_nothing_is_known_of_functions(tmp_path: Path) -> None:
    listed = list_functions(HostFiles(tmp_path, recorded=False))

    assert listed.problems == ("/sys/bus is missing, so no function can be seen: is /sys mounted?",)


@pytest.mark.parametrize("target", ["../../../../../outside", "/etc"])
def test_a_recorded_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    host = one_switch(tmp_path / "host")
    (host.root / "sys/bus/pci/devices/0000:99:00.0").symlink_to(target)

    with pytest.raises(BadInputError, match=r"leads out of the recorded host") as raised:
        _listed(host, recorded=True)

    assert raised.value.exit_code == ExitCode.BAD_INPUT


def test_a_recorded_attribute_that_leads_out_is_refused(tmp_path: Path) -> None:
    host = one_switch(tmp_path / "host")
    uevent = host.directory("0000:23:00.0") / "uevent"
    uevent.unlink()
    uevent.symlink_to("/etc/hostname")

    with pytest.raises(BadInputError, match=r"0000:23:00\.0/uevent leads out of the recorded host"):
        _listed(host, recorded=True)


def test_the_same_functions_are_found_in_a_recording(tmp_path: Path) -> None:
    host = one_switch(tmp_path)

    assert _listed(host, recorded=True) == _listed(host)


def test_a_bridge_of_any_depth_is_in_the_path(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    bridge = ConfigBuilder("8086:347a", 0x060400).express(ROOT_PORT)
    end = ConfigBuilder("15b3:101b", 0x020000).express(ENDPOINT)
    host.add(Function("0000:00:01.0", bridge))
    for bus in range(1, 9):
        host.add(Function(f"0000:{bus:02x}:00.0", bridge, below=_above(bus)))
    host.add(replace(Function("0000:09:00.1", end), below="0000:08:00.0"))

    function = _listed(host).functions[-1]

    assert function.location == "0000:00:01.0" + "/00.0" * 8 + "/00.1"


def _above(bus: int) -> str:
    return "0000:00:01.0" if bus == 1 else f"0000:{bus - 1:02x}:00.0"


def test_a_pipe_in_a_recording_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    uevent = host.directory("0000:23:00.0") / "uevent"
    uevent.unlink()
    os.mkfifo(uevent)

    with pytest.raises(BadInputError, match=r"uevent of the recorded host is neither a file nor"):
        _listed(host, recorded=True)


def test_a_class_that_is_assigned_to_nothing_is_no_problem_of_a_live_host(tmp_path: Path) -> None:
    """Firecracker's virtio functions are of class ffff00."""
    host = TreeHost(tmp_path)
    host.add(Function("0000:00:01.0", ConfigBuilder("1af4:1042", 0xFFFF00)))

    assert not _listed(host).problems
