"""Functions that come while the host runs: right before they are bound, by udev and the hook."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.guest import Guest
from bench.kernel_trace import Trace
from bench.systemd import driver, now, trace
from bench.vfs import virtual_functions
from bench.waiting import until

pytestmark = pytest.mark.machine("boot-initramfs")

ACS_CONTROL = 0x148 + 6  # of a downstream port, in bytes
HOOK = "/usr/lib/pcietune/hook"


def settle(guest: Guest) -> None:
    result = guest.run("udevadm", "settle", "--timeout=120", timeout=150)
    assert result.returncode == 0, result


def acs(guest: Guest, name: str) -> str:
    return guest.run("setpci", "-s", guest.address(name), "ECAP_ACS+6.w").stdout.strip()


def lose(guest: Guest, name: str) -> None:
    """Let a port read as after a reset; QEMU keeps what the bench wrote over a real one."""
    guest.poke(name, ACS_CONTROL, b"\x1d\x00")


def stamps(guest: Guest) -> set[str]:
    return set(guest.run("ls", "/run/pcietune/stamps").stdout.split())


def hooks(noted: Trace) -> int:
    return sum(ran.program == HOOK for ran in noted.ran)


def remove(guest: Guest, *names: str) -> None:
    for name in names:
        guest.write_file(f"/sys/bus/pci/devices/{guest.address(name)}/remove", b"1")
    settle(guest)


def rescan(guest: Guest) -> None:
    guest.write_file("/sys/bus/pci/rescan", b"1")
    settle(guest)


@contextmanager
def noting(guest: Guest) -> Iterator[list[Trace]]:
    """Yield a list that is given what happened meanwhile."""
    start, noted = now(guest), list[Trace]()
    yield noted
    noted.append(trace(guest, since=start))


def test_a_nic_is_set_up_before_it_is_bound_when_it_comes_back(guest: Guest) -> None:
    nic = guest.address("nic0")

    with noting(guest) as noted:
        remove(guest, "nic0")
        gone = stamps(guest)
        lose(guest, "port1")
        rescan(guest)

    assert nic not in gone
    assert nic in stamps(guest)
    assert (acs(guest, "port1"), driver(guest, nic)) == ("005d", "vfio-pci")
    (wrote,) = noted[0].wrote
    (given,) = noted[0].bound
    assert (wrote.device, wrote.value) == (guest.address("port1"), 0x5D)
    assert (given.device, wrote.time < given.time) == (nic, True)
    assert hooks(noted[0]) == 3  # remove, add, bind


def test_a_gpu_is_bound_when_it_comes_back(guest: Guest) -> None:
    gpu = guest.address("gpu0")

    with noting(guest) as noted:
        remove(guest, "gpu0")
        rescan(guest)

    assert (driver(guest, gpu), gpu in stamps(guest)) == ("vfio-pci", True)
    assert (noted[0].wrote, hooks(noted[0])) == ([], 3)


def test_all_of_a_switch_is_set_up_when_it_comes_back(guest: Guest) -> None:
    both = {guest.address("gpu0"), guest.address("nic0")}

    with noting(guest) as noted:
        remove(guest, "switch0")
        assert stamps(guest) & both == set()
        lose(guest, "port1")
        rescan(guest)

    assert stamps(guest) >= both
    assert {driver(guest, address) for address in both} == {"vfio-pci"}
    assert acs(guest, "port1") == "005d"
    (wrote,) = noted[0].wrote
    assert all(
        wrote.time < each.time for each in noted[0].bound if each.device == guest.address("nic0")
    )
    assert hooks(noted[0]) == 6


def test_events_of_what_is_as_wanted_or_nobodys_business_start_nothing(guest: Guest) -> None:
    with noting(guest) as noted:
        guest.run("udevadm", "trigger", "--action=add", "--subsystem-match=pci", "--settle")

    assert hooks(noted[0]) == 1  # of storage0, which has a rail's id: only the hook can tell
    assert (noted[0].wrote, noted[0].bound) == ([], [])


def test_in_a_storm_of_128_events_none_is_lost(guest: Guest) -> None:
    both = [guest.address("gpu0"), guest.address("nic0")]
    guest.run("sh", "-c", "rm /run/pcietune/stamps/*")
    lose(guest, "port1")

    with noting(guest) as noted:
        files = " ".join(f"/sys/bus/pci/devices/{address}/uevent" for address in both)
        guest.run(
            "sh", "-c", f"for i in $(seq 64); do for f in {files}; do echo add >$f; done; done"
        )
        settle(guest)

    assert (acs(guest, "port1"), len(noted[0].wrote)) == ("005d", 1)
    assert stamps(guest) >= set(both)
    assert 2 <= hooks(noted[0]) <= 4  # one for each function, and for what came before its stamp


def test_a_nic_in_a_new_slot_is_left_to_watch_which_sets_and_binds_it(guest: Guest) -> None:
    with noting(guest) as noted:
        guest.plug("spare0")
        until(lambda: "spare0" in present(guest, "spare0"))
        settle(guest)

    new = guest.address("spare0")
    assert (noted[0].wrote, driver(guest, new)) == ([], None)

    guest.run("systemctl", "start", "pcietune-watch.service", timeout=90)
    guest.write_file(f"/sys/bus/pci/devices/{new}/remove", b"1")
    rescan(guest)
    until(lambda: driver(guest, guest.address("spare0")) == "vfio-pci")
    guest.run("systemctl", "stop", "pcietune-watch.service")

    assert acs(guest, "port2") == "005d"
    assert guest.address("spare0") in stamps(guest)


def present(guest: Guest, name: str) -> set[str]:
    """Return the name if the guest's kernel sees the function."""
    path = guest.location(name).rpartition("/")[2]
    listed = guest.run("sh", "-c", f"ls -d /sys/bus/pci/devices/{guest.address('port2')}/*:{path}")
    return {name} if listed.returncode == 0 else set()


@pytest.mark.machine("boot-args")
def test_new_virtual_functions_are_stamped_and_bound(guest: Guest) -> None:
    with noting(guest) as noted, virtual_functions(guest, "nic0", 2) as vfs:
        settle(guest)

        assert [driver(guest, vf) for vf in vfs] == ["vfio-pci", "vfio-pci"]
        assert stamps(guest) >= set(vfs)
    settle(guest)

    assert stamps(guest) & set(vfs) == set()
    assert hooks(noted[0]) >= 4  # add and bind of each; it may be removed still
