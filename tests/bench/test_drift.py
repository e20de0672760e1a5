"""Settings that are lost while the host runs: watch and audit notice, and watch repairs."""

import json
from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import audited, finding
from bench.systemd import driver
from bench.vfio import held_by_vfio
from bench.waiting import until

pytestmark = [pytest.mark.machine("boot-initramfs"), pytest.mark.usefixtures("_watched")]

ACS_CONTROL = 0x148 + 6  # of a downstream port, in bytes
UNIT = "pcietune-watch.service"
LOST = "port.nic-side.DirectTrans"


@pytest.fixture
def _watched(guest: Guest) -> Iterator[None]:
    """Have the watch run, and everything as wanted before and after."""
    guest.run("pcietune", "apply")
    started = guest.run("systemctl", "start", UNIT, timeout=90)
    assert started.returncode == 0, guest.run("journalctl", "-u", UNIT).stdout
    yield
    guest.run("systemctl", "stop", UNIT)
    guest.run("pcietune", "apply")


def acs(guest: Guest) -> str:
    return guest.run("setpci", "-s", guest.address("port1"), "ECAP_ACS+6.w").stdout.strip()


def lose(guest: Guest, word: bytes = b"\x1d\x00") -> None:
    """Let the port read as after a reset: QEMU keeps what the bench wrote over a real one."""
    guest.poke("port1", ACS_CONTROL, word)


def look(guest: Guest) -> None:
    """Have the watch look at everything now, not in five minutes."""
    guest.run("systemctl", "reload", UNIT)


def told(guest: Guest, kind: str) -> list[dict[str, str]]:
    """Return what this run of the watch said of the port, of one kind, as the journal has it."""
    started = guest.run("systemctl", "show", "-p", "InvocationID", "--value", UNIT).stdout.strip()
    lines = guest.run(
        *("journalctl", "-o", "json", f"_SYSTEMD_INVOCATION_ID={started}"),
        *(f"PCIETUNE_KIND={kind}", f"PCIETUNE_ADDRESS={guest.address('port1')}"),
    ).stdout.splitlines()
    return [json.loads(line) for line in lines]


def repaired(guest: Guest) -> bool:
    return acs(guest) == "005d" and told(guest, "repaired") != []


def test_what_setpci_cleared_is_repaired_and_told_with_both_words(guest: Guest) -> None:
    guest.run("setpci", "-s", guest.address("port1"), "ECAP_ACS+6.w=0000:0040")
    assert finding(audited(guest), LOST, guest.location("port1")).state == "fail"

    look(guest)
    until(lambda: repaired(guest))

    (changed,) = told(guest, "changed")
    assert (changed["PCIETUNE_OLD"], changed["PCIETUNE_NEW"]) == ("0x005d", "0x001d")
    # One port alone lost one bit: a switch with one NIC leaves open whether it was reset.
    assert changed["PCIETUNE_CAUSE"] in ("by-hand", "reset")
    assert finding(audited(guest), LOST, guest.location("port1")).state == "pass"


def test_a_port_whose_driver_was_bound_anew_is_looked_at_without_being_asked(guest: Guest) -> None:
    port = guest.address("port1")
    lose(guest)

    guest.run(
        "sh", "-c", f"cd /sys/bus/pci/drivers/pcieport; echo {port} >unbind; echo {port} >bind"
    )
    until(lambda: repaired(guest))

    assert told(guest, "changed") != []


@pytest.mark.parametrize(
    ("driven", "event", "cause"),
    [
        # vfio-pci has error handlers, so the kernel may ask it; without a driver nobody answers.
        pytest.param(True, "SUCCESSFUL_RECOVERY", "recovery", id="recovered"),
        pytest.param(False, "FAILED_RECOVERY", "failed-recovery", id="given up"),
    ],
)
def test_after_the_kernel_recovered_a_port_or_gave_up_it_is_as_wanted(
    guest: Guest, *, driven: bool, event: str, cause: str
) -> None:
    nic = guest.address("nic0")
    if not driven:
        guest.run("sh", "-c", f"echo {nic} >/sys/bus/pci/devices/{nic}/driver/unbind")
    guest.run(
        "sh",
        "-c",
        "udevadm monitor --kernel --property >/run/events & echo $! >/run/monitor; sleep 2",
    )
    lose(guest)

    guest.inject_error("port1", "SDN")  # Surprise Down: uncorrectable, and fatal
    until(lambda: acs(guest) == "005d")
    guest.run("sh", "-c", "udevadm settle; kill $(cat /run/monitor)")

    assert f"ERROR_EVENT={event}" in guest.read_file("/run/events").decode()
    assert {each["PCIETUNE_CAUSE"] for each in told(guest, "changed")} <= {cause, "pcietune"}


def test_above_a_function_in_use_it_waits_until_the_user_lets_go(guest: Guest) -> None:
    nic = guest.address("nic0")
    with held_by_vfio(guest, nic):
        lose(guest)
        look(guest)
        until(lambda: told(guest, "deferred") != [])
        assert acs(guest) == "001d"
        assert finding(audited(guest), LOST, guest.location("port1")).state == "fail"

    until(lambda: repaired(guest), seconds=30)
    assert driver(guest, nic) is None  # who took it back by hand, has it
