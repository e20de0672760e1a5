"""A guest that systemd boots is the host that units and rules are written for."""

import pytest

from bench.guest import Guest
from bench.systemd import now, trace
from bench.vfio import bound

pytestmark = pytest.mark.machine("boot-owners")

ACS_CONTROL = 0x148 + 6  # of a downstream port, in bytes


def test_all_units_came_up(guest: Guest) -> None:
    assert guest.run("systemctl", "is-system-running").stdout == "running\n"
    assert guest.run("systemctl", "is-active", "multi-user.target").stdout == "active\n"


def test_systemd_takes_it_for_real_hardware(guest: Guest) -> None:
    assert guest.run("systemd-detect-virt").stdout == "none\n"


def test_the_root_was_read_only_until_systemd_made_it_writable(guest: Guest) -> None:
    assert "bench: overlay / overlay ro," in guest.run("dmesg").stdout
    assert "overlay / overlay rw," in guest.run("cat", "/proc/mounts").stdout


def test_the_kernel_notes_writes_bindings_and_programs(guest: Guest) -> None:
    port, storage = guest.address("port0"), guest.address("storage0")
    before = guest.run("setpci", "-s", port, "ECAP_ACS+6.w").stdout.strip()
    start = now(guest)

    guest.run("setpci", "-s", port, f"ECAP_ACS+6.w={before}")
    with bound(guest, storage, "vfio-pci"):
        noted = trace(guest, since=start)

    (wrote,) = noted.wrote
    assert (wrote.device, wrote.offset, wrote.value) == (port, ACS_CONTROL, int(before, 16))
    (got,) = noted.bound
    assert (got.device, got.driver) == (storage, "vfio-pci")
    ran = [ran for ran in noted.ran if ran.program in ("/usr/bin/setpci", "/usr/bin/sh")]
    assert [each.program for each in ran] == ["/usr/bin/setpci", "/usr/bin/sh"]
    assert start < ran[0].time < wrote.time < ran[1].time < got.time
