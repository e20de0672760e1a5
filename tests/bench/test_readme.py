"""Who follows the README on a GPU server gets what it says, before the reboot and after.

Its commands are read from its text. apt-get and make are left out, for a systemd guest has pcietune
from ``make install``; so are update-initramfs and reboot: a second guest is booted with what the
first one's owner has in /etc, by an initramfs that Debian's own tool made with it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from bench.boot import booted
from bench.guest import Guest, Result
from bench.machine import Machine, load_machine
from bench.on_guest import ACS_CONTROL, addresses, differences, direct_translated
from bench.systemd import boot_trace, driver

pytestmark = pytest.mark.bench

README = Path(__file__).parents[2] / "README.md"
BEFORE = load_machine("newcomer")
UNITS = ("pcietune-apply.service", "pcietune-audit.timer", "pcietune-watch.service")
WITH_DRIVER = "nic0"
# A native driver gets it, and nothing is left that says so: what it is, is an NVMe controller.
NATIVE = """
set -e
cd /sys/bus/pci
modprobe nvme
echo nvme >devices/$1/driver_override
echo $1 >drivers_probe
echo >devices/$1/driver_override
"""
HEADER = 0x40  # bytes
LEFT_OUT = ("make ", "update-initramfs ", "reboot")
GIVEN = [f"{role}{number}" for role in ("gpu", "nic") for number in range(8)]
NIC_PORTS = ("port2", "port3", "port6", "port7", "port10", "port11", "port14", "port15")
READING = {
    "pcietune status": 0,
    "pcietune topo": 0,
    "pcietune groups": 0,
    "pcietune audit --mode vm": 3,  # the NICs' ports lack DirectTrans
    "pcietune plan --mode vm": 3,
    "pcietune record host.tar": 0,
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that was typed.

    Attributes:
        ended: How it ended.
        changed: Where Configuration Space then differs from before the first command: address and
            offset, without the header's.
    """

    ended: Result
    changed: set[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Followed:
    """What the owner of a host typed, and what came of it.

    Attributes:
        typed: What stands below "On a real host", by command, without its comment.
        for_boot: What stands below "Settings at boot" before the reboot, likewise.
        nic_ports: Addresses of the ports above the NICs.
        drivers: Of the GPUs and NICs in the end, by name.
        after: The machine as it is booted next.
    """

    typed: dict[str, Typed]
    for_boot: dict[str, Typed]
    nic_ports: set[str]
    drivers: dict[str, str | None]
    after: Machine


@pytest.fixture(scope="module")
def followed() -> Followed:
    with booted(BEFORE) as guest:
        guest.run("sh", "-c", NATIVE, "sh", guest.address(WITH_DRIVER))
        return Followed(
            typed=_type(guest, _commands("On a real host")),
            for_boot=_type(guest, _commands("Settings at boot")[:-1]),
            nic_ports=addresses(guest, *NIC_PORTS),
            drivers={name: driver(guest, guest.address(name)) for name in GIVEN},
            after=msgspec.structs.replace(
                BEFORE, initrd="initramfs-tools", files=_settings(guest), enabled=_enabled(guest)
            ),
        )


@pytest.fixture(scope="module")
def rebooted(followed: Followed) -> Iterator[Guest]:
    with booted(followed.after) as guest:
        yield guest


def test_reading_commands_end_as_told_and_change_nothing(followed: Followed) -> None:
    typed = {command: followed.typed[command] for command in READING}

    assert {command: each.ended.returncode for command, each in typed.items()} == READING
    assert [each.changed for each in typed.values()] == [set()] * len(READING)


def test_apply_sets_the_ports_of_the_nics_and_restore_puts_them_back(followed: Followed) -> None:
    applied = followed.typed["pcietune apply --mode vm"]
    restored = followed.typed["pcietune restore"]

    assert (applied.ended.returncode, restored.ended.returncode) == (0, 0)
    assert applied.changed == {(port, ACS_CONTROL) for port in followed.nic_ports}
    assert restored.changed == set()


def test_with_the_settings_apply_gives_to_vfio_what_no_driver_has(followed: Followed) -> None:
    assert followed.drivers == dict.fromkeys(GIVEN, "vfio-pci") | {WITH_DRIVER: "nvme"}


def test_what_is_typed_for_the_boot_is_left_in_etc_and_only_the_driver_told(
    followed: Followed,
) -> None:
    failed = {
        command: each.ended.returncode
        for command, each in followed.for_boot.items()
        if each.ended.returncode
    }

    assert failed == {"pcietune apply": 3}
    assert "nvme has it" in followed.for_boot["pcietune apply"].ended.stdout
    assert set(followed.after.enabled) == {*UNITS, "pcietune-boot-done.service"}
    assert followed.after.files.keys() == {
        *("/etc/pcietune/pcietune.yaml", "/etc/pcietune/early-overrides")
    }


def test_after_the_reboot_all_is_set_before_vfio_gets_the_first_function(
    followed: Followed, rebooted: Guest
) -> None:
    noted = boot_trace(rebooted)

    given = {each.device: each.time for each in noted.bound if each.driver == "vfio-pci"}
    assert given.keys() == addresses(rebooted, *GIVEN)
    assert {(each.device, each.offset) for each in noted.wrote} == {
        (port, ACS_CONTROL) for port in followed.nic_ports
    }
    assert max(each.time for each in noted.wrote) < min(given.values())
    assert direct_translated(rebooted) == followed.nic_ports


def test_after_the_reboot_the_initramfs_has_kept_other_drivers_off(rebooted: Guest) -> None:
    log = rebooted.run("dmesg").stdout

    for name in GIVEN:
        assert f"pcietune: {rebooted.address(name)} is kept for vfio-pci" in log


def test_after_the_reboot_the_units_run_and_the_audit_has_nothing_to_say(rebooted: Guest) -> None:
    active = rebooted.run("systemctl", "is-active", *UNITS)
    audit = rebooted.run("sh", "-c", _commands("Settings at boot")[-1])

    assert (active.stdout.split(), audit.returncode) == (["active"] * 3, 0)
    assert rebooted.run("test", "-s", "/run/pcietune/policy.json").returncode == 0


def _commands(heading: str) -> list[str]:
    """Return what the README has to type below a heading, up to the next one."""
    below = README.read_text().partition(f"# {heading}\n")[2]
    section = re.split(r"^#+ ", below, maxsplit=1, flags=re.MULTILINE)[0]
    lines = "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))
    found = re.findall(r"^(?:.*<<'END'\n(?:.*\n)*?END|.+)$", lines, re.MULTILINE)
    return [command for command in found if not command.startswith(LEFT_OUT)]


def _type(guest: Guest, commands: list[str]) -> dict[str, Typed]:
    before = guest.configs()
    return {
        command.partition("   ")[0]: Typed(
            guest.run("sh", "-c", command, cwd="/root"),
            {at for at in differences(before, guest.configs()) if at[1] >= HEADER},
        )
        for command in commands
    }


def _settings(guest: Guest) -> dict[str, str]:
    files = guest.run("find", "/etc/pcietune", "-type", "f").stdout.splitlines()
    return {file: guest.read_file(file).decode() for file in files}


def _enabled(guest: Guest) -> list[str]:
    listed = guest.run(
        *("systemctl", "list-unit-files", "--state=enabled", "--no-legend", "pcietune-*")
    )
    return [line.split()[0] for line in listed.stdout.splitlines()]
