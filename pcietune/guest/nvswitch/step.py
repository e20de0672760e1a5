"""Steps around a VM's start and stop."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Where(StrEnum):
    """Where a step is made."""

    HOST = "host"
    SERVICE_VM = "service VM"
    VM = "VM"  # the tenant's


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        where: Where it is made.
        text: What is done, and why or what shows that it is.
        commands: That do it, or show it; empty if it is another program's, or not known.
        inference: Whether it follows from what is known, and no source says it of this case.
    """

    where: Where
    text: str
    commands: tuple[str, ...] = ()
    inference: bool = False


def resets(addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the commands that reset functions, by the kernel's sysfs."""
    return tuple(f"echo 1 > /sys/bus/pci/devices/{address}/reset" for address in addresses)
