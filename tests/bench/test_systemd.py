"""A guest that systemd boots is the host that units and rules are written for."""

import pytest

from bench.guest import Guest
from bench.systemd import forget_trace, trace

pytestmark = pytest.mark.machine("boot-ids")

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
    driver = "/sys/bus/pci/drivers/vfio-pci"

    forget_trace(guest)
    guest.run("setpci", "-s", port, f"ECAP_ACS+6.w={before}")
    guest.run("sh", "-c", f"echo {storage} >{driver}/unbind; echo {storage} >{driver}/bind")
    noted = trace(guest)

    (wrote,) = noted.wrote
    assert (wrote.device, wrote.offset, wrote.value) == (port, ACS_CONTROL, int(before, 16))
    (bound,) = noted.bound
    assert (bound.device, bound.driver) == (storage, "vfio-pci")
    programs = [ran.program for ran in noted.ran]
    assert programs[:2] == ["/usr/bin/setpci", "/usr/bin/sh"]
    assert noted.ran[0].time < wrote.time < noted.ran[1].time < bound.time
