"""What the boot unit costs a cold boot: the same emulated A800 server with it and without it."""

from statistics import median

import msgspec
from bench.boot import booted
from bench.guest import Guest
from bench.machine import Machine, load_machine

from benchmarks.figure import Figure

_ROUNDS = 3
_UNIT = "pcietune-apply.service"


def cold_boot() -> list[Figure]:
    """Compare the seconds from systemd's start to the end of the boot, in turns."""
    machine = load_machine("boot-gate")
    others = [unit for unit in machine.enabled if not unit.startswith("pcietune-")]
    bare = msgspec.structs.replace(machine, enabled=others)
    pairs = [(_with_unit(machine), _whole(bare)) for _ in range(_ROUNDS)]
    whole = median(with_unit for (with_unit, _), _ in pairs)
    unit = median(own for (_, own), _ in pairs)
    without = median(seconds for _, seconds in pairs)
    ratio = median(with_unit / seconds for (with_unit, _), seconds in pairs)
    share = median(own / seconds for (_, own), seconds in pairs)
    return [
        Figure(
            "cold boot with the unit : without", f"{whole:.1f} s : {without:.1f} s", ratio, None
        ),
        Figure("the unit itself : boot without", f"{unit:.1f} s : {without:.1f} s", share, None),
    ]


def _with_unit(machine: Machine) -> tuple[float, float]:
    """Return the seconds of a boot, and those of them in which the unit ran."""
    with booted(machine) as guest:
        started, ended = (
            _seconds(guest, f"ExecMain{event}TimestampMonotonic", _UNIT)
            for event in ("Start", "Exit")
        )
        return _of_boot(guest), ended - started


def _whole(machine: Machine) -> float:
    with booted(machine) as guest:
        return _of_boot(guest)


def _of_boot(guest: Guest) -> float:
    """Return the seconds from the start of the first process to the end of the boot."""
    finished = _seconds(guest, "FinishTimestampMonotonic")
    return finished - _seconds(guest, "UserspaceTimestampMonotonic")


def _seconds(guest: Guest, name: str, *unit: str) -> float:
    """Return a time that systemd keeps, on the guest's monotonic clock.

    Raises:
        RuntimeError: It has none: the boot did not end, or the unit did not run.
    """
    value = guest.run("systemctl", "show", "--value", f"--property={name}", *unit).stdout.strip()
    if not value.isdecimal() or value == "0":
        raise RuntimeError(f"{name} {' '.join(unit)}: {value!r}")
    return int(value) / 1_000_000
