"""At a cold boot ports are as wanted before VFIO gets its first function, by the kernel's trace."""

import pytest

from bench.guest import Guest
from bench.on_guest import addresses, audited, direct_translated, finding, states
from bench.systemd import boot_trace, driver

ACS_CONTROL = 0x148 + 6  # of a downstream port, in bytes
AS_WANTED = 0x5D  # SrcValid, ReqRedir, CmpltRedir, UpstreamFwd, DirectTrans
VFIO = "vfio-pci"

GPUS = tuple(f"gpu{number}" for number in range(8))
NICS = tuple(f"nic{number}" for number in range(8))
NIC_PORTS = ("port2", "port3", "port6", "port7", "port10", "port11", "port14", "port15")
OF_THE_HOST = ("nic8", "storage0")  # in a bond


def holds_in_order(guest: Guest, ports: tuple[str, ...], functions: tuple[str, ...]) -> None:
    """Hold that all ports were set before the first function was bound, in this boot."""
    noted = boot_trace(guest)
    set_ports = {(each.device, each.offset, each.value) for each in noted.wrote}
    given = [each for each in noted.bound if each.driver == VFIO]

    assert set_ports == {(guest.address(port), ACS_CONTROL, AS_WANTED) for port in ports}
    assert {each.device for each in given} == addresses(guest, *functions)
    assert max(each.time for each in noted.wrote) < min(each.time for each in given)
    assert direct_translated(guest) == addresses(guest, *ports)


@pytest.mark.machine("boot-owners")
def test_before_vfio_pci_takes_ids_and_driverctl_its_functions(guest: Guest) -> None:
    holds_in_order(guest, ("port1",), ("gpu0", "nic0"))

    assert "/usr/sbin/driverctl" in {ran.program for ran in boot_trace(guest).ran}
    assert driver(guest, guest.address("storage0")) is None


@pytest.mark.machine("boot-owners")
def test_what_others_bound_after_apply_is_told_to_be_in_order(guest: Guest) -> None:
    found = audited(guest)

    for name in ("gpu0", "nic0"):
        assert finding(found, "vfio.order", guest.location(name)).state == "pass"
    owners = {f.id for f in found.findings if f.id.startswith("owner.")}
    assert {"owner.vfio-ids", "owner.driverctl"} <= owners


@pytest.mark.machine("boot-gate")
def test_before_the_gate_binds_what_the_owner_names(guest: Guest) -> None:
    holds_in_order(guest, (*NIC_PORTS, "port16"), (*GPUS, *NICS))


@pytest.mark.machine("boot-gate")
def test_identical_nics_of_the_hosts_own_bond_are_never_touched(guest: Guest) -> None:
    noted = boot_trace(guest)
    own = addresses(guest, *OF_THE_HOST)

    assert [each for each in noted.wrote if each.device in own] == []
    assert {each.driver for each in noted.bound if each.device in own} == {"virtio-pci"}
    for address in own:
        (interface,) = guest.run(
            "sh", "-c", f"ls /sys/bus/pci/devices/{address}/virtio*/net"
        ).stdout.split()
        bond = guest.run("readlink", f"/sys/class/net/{interface}/master").stdout
        assert bond.endswith("/bond0\n")


@pytest.mark.machine("boot-gate")
def test_a_typed_bind_of_all_leaves_the_bond_alone_and_says_why(guest: Guest) -> None:
    before = guest.configs()

    told = guest.pcietune("vfio", "bind", "--all")

    assert told.returncode == 3
    assert "which is part of bond0" in told.stdout
    assert {driver(guest, guest.address(name)) for name in OF_THE_HOST} == {"virtio-pci"}
    assert guest.configs() == before


@pytest.mark.machine("boot-initramfs", "boot-dracut")
def test_before_the_gate_binds_what_the_initramfs_kept_for_it(guest: Guest) -> None:
    holds_in_order(guest, ("port1",), ("gpu0", "nic0"))

    log = guest.run("dmesg").stdout
    for name in ("gpu0", "nic0"):
        assert f"pcietune: {guest.address(name)} is kept for vfio-pci" in log
    # Its own driver did probe the NIC that nobody keeps, and that is not what the emulation is.
    assert f"mlx5_core {guest.address('storage0')}: probe" in log
    assert f"mlx5_core {guest.address('nic0')}" not in log


@pytest.mark.machine("boot-initramfs", "boot-dracut")
def test_apply_keeps_the_list_that_the_image_was_made_with(guest: Guest) -> None:
    lines = guest.read_file("/etc/pcietune/early-overrides").decode().splitlines()

    assert sorted(lines) == sorted(
        f"{guest.location(name)} {ids} vfio-pci {guest.address(name)}"
        for name, ids in (("gpu0", "10de:20f3"), ("nic0", "15b3:101b"))
    )
    assert "have its image made anew" not in guest.run("journalctl", "-u", "pcietune-apply").stdout


@pytest.mark.machine("boot-early")
def test_where_the_initramfs_binds_the_audit_says_that_the_order_cannot_be_had(
    guest: Guest,
) -> None:
    noted = boot_trace(guest)
    given = {each.device: each.time for each in noted.bound if each.driver == VFIO}
    assert given.keys() == addresses(guest, "gpu0", "nic0", "storage0")
    assert max(given.values()) < min(each.time for each in noted.wrote)

    found = audited(guest)

    for name in ("gpu0", "nic0"):
        order = finding(found, "vfio.order", guest.location(name))
        assert (order.state, order.found.value) == ("fail", "before")
        assert order.remedy is not None
        assert "pcietune kernel-args" in order.remedy.command
    assert ("vfio.order", guest.location("storage0")) not in states(found)["fail"]
    assert direct_translated(guest) == addresses(guest, "port1")  # set all the same
