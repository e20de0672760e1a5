"""What others do to the host while pcietune is at work: it is told, and nothing else is claimed."""

import shlex

import pytest

from bench.guest import Guest, Result
from bench.on_guest import (
    VM,
    acting,
    addresses,
    audited,
    direct_translated,
    document,
    states,
    weighty,
    with_signal,
)
from bench.systemd import driver as driver_of
from bench.vfio import bound

pytestmark = [pytest.mark.machine("a800"), pytest.mark.usefixtures("untouched")]

NIC_PORTS = ("port2", "port3", "port6", "port7", "port10", "port11", "port14", "port15")
FIRST_GROUP = ("port2", "port3")
APPLY = ("apply", *VM, "--json")


def meanwhile(guest: Guest, command: str, write: int, *arguments: str) -> Result:
    """Run pcietune, and a command right after its nth write."""
    return guest.run(*acting(guest, "after", "pwrite", write, command), *arguments)


def test_a_bit_that_setpci_clears_before_apply_has_ended_is_told_to_be_clear(guest: Guest) -> None:
    lose = f"setpci -s {guest.address('port2')} ECAP_ACS+6.w=0000:0040"

    told = document(meanwhile(guest, lose, 5, *APPLY))

    assert (told.exit, len(told.writes)) == (3, len(NIC_PORTS))
    assert weighty(told)["fail"] == {("port.nic-side.DirectTrans", guest.location("port2"))}


def test_a_port_that_is_gone_before_it_is_read_back_costs_its_group_and_is_undone_later(
    guest: Guest,
) -> None:
    before = guest.configs()
    try:
        told = document(meanwhile(guest, "bench-doorbell vanish port3", 2, *APPLY))
        gone = audited(guest)
    finally:
        guest.reappear("port3")

    assert told.exit == 8
    assert told.errors[0].message.startswith(f"{guest.address('port3')} does not answer")
    assert direct_translated(guest) == addresses(guest, *set(NIC_PORTS) - {"port2"})
    unfinished = ("apply.unfinished", guest.location("switch0"))
    assert unfinished in states(told)["fail"] & states(gone)["fail"]
    assert ("port.nic-side.DirectTrans", guest.location("port3")) in states(gone)["error"]

    assert document(guest.pcietune("restore", "--json")).exit == 0
    assert guest.configs() == before


def test_a_function_that_is_removed_while_apply_writes_costs_its_group_only(guest: Guest) -> None:
    port = guest.address("port3")
    remove = f"echo 1 > /sys/bus/pci/devices/{port}/remove"
    try:
        told = document(meanwhile(guest, remove, 1, *APPLY))
    finally:
        guest.run("sh", "-c", "echo 1 > /sys/bus/pci/rescan; udevadm settle")

    assert told.exit == 7
    assert "vanished while it was looked at; the switch group is as it was" in (
        told.errors[0].message
    )
    assert direct_translated(guest) == addresses(guest, *set(NIC_PORTS) - set(FIRST_GROUP))


def test_behind_a_stopped_apply_a_second_one_gives_up_and_audit_says_why(guest: Guest) -> None:
    stopped = f"{shlex.join(acting(guest, 'after', 'pwrite', 3, 'kill -STOP $PCIETUNE'))} apply"
    started = guest.run(
        "sh",
        "-c",
        f"{stopped} --mode vm >/dev/null 2>&1 & echo $!; "
        "until grep -q 'State:.T' /proc/$!/status; do sleep 0.1; done",
    )
    try:
        second = document(guest.pcietune(*APPLY, "--wait", "0"))
        found = audited(guest)
    finally:
        guest.run("sh", "-c", f"kill -KILL {started.stdout}")

    assert (second.exit, second.writes) == (10, [])
    assert ("apply.unfinished", guest.location("switch1")) in states(found)["fail"]
    assert document(guest.pcietune(*APPLY)).exit == 0


def test_a_restore_that_was_killed_is_finished_by_the_next(guest: Guest) -> None:
    before = guest.configs()
    guest.pcietune(*APPLY)

    assert with_signal(guest, "SIGKILL", "after", "pwrite", 3, "restore").returncode == -9

    rest = document(guest.pcietune("restore", "--json"))
    assert (rest.exit, len(rest.writes)) == (0, len(NIC_PORTS) - 3)
    assert guest.configs() == before


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [1, 2, 3], ids=["override", "unbind", "probe"])
def test_a_bind_that_was_killed_is_told_as_it_is_and_finished_by_the_next(
    guest: Guest, when: str, step: int
) -> None:
    nic = guest.address("nic0")
    guest.pcietune(*APPLY)
    with bound(guest, nic, "nvme"):  # the driver that the emulation has for it
        guest.run("sh", "-c", f"echo >/sys/bus/pci/devices/{nic}/driver_override")

        killed = with_signal(guest, "SIGKILL", when, "write", step, "vfio", "bind", nic, *VM)
        (shown,) = document(guest.pcietune("vfio", "show", nic, *VM, "--json")).bindings
        driver = driver_of(guest, nic)
        finished = guest.pcietune("vfio", "bind", nic, *VM)

        assert killed.returncode == -9
        assert (shown.driver, shown.state == "bound") == (driver, driver == "vfio-pci")
        assert (finished.returncode, driver_of(guest, nic)) == (0, "vfio-pci")


def test_where_sys_is_read_only_as_in_a_container_nothing_is_claimed(guest: Guest) -> None:
    before = guest.configs()
    command = " ".join((*guest.PCIETUNE, *APPLY))

    told = document(
        guest.run("unshare", "-m", "sh", "-c", f"mount -o remount,bind,ro /sys; exec {command}")
    )

    assert (told.exit, told.changed, told.writes) == (5, False, [])
    assert told.errors[0].message.endswith("/sys is mounted read-only")
    assert guest.configs() == before


def test_a_plain_user_sees_the_status_also_after_an_apply(guest: Guest) -> None:
    guest.pcietune(*APPLY)

    told = guest.pcietune("status", *VM, user="nobody")

    assert told.returncode == 0
    assert "next     run it as root: registers could not be read" in told.stdout
