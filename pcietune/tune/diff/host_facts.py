"""What there is to compare of a host apart from its functions."""

import re
from collections.abc import Iterator, Mapping

from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.model.platform import IommuUnit, Lockdown, Platform
from pcietune.tune.diff.fact import Fact, Kind

HOST = "host"
"""The subject of what holds for the whole host."""

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')  # as the kernel's next_arg() splits it
_OF_ONE_BOOT = frozenset({"BOOT_IMAGE", "initrd", "root", "resume"})
"""Words that name a disk or a file: each host has its own, and what they say is told elsewhere."""
_NOT_SHOWN = "..."  # in place of a value that a recording keeps to itself


def host_facts(platform: Platform, other: Platform) -> tuple[Fact, ...]:
    """Return one host's facts of firmware and kernel, with all names that the other has, too."""
    names = sorted({*platform.dmi, *other.dmi})
    kernel = NOT_KNOWN if platform.kernel is None else platform.kernel
    locked = NOT_KNOWN if platform.lockdown is Lockdown.UNKNOWN else str(platform.lockdown)
    nodes = NOT_KNOWN if platform.numa_nodes is None else str(platform.numa_nodes)
    return (
        *(Fact(Kind.FIRMWARE, name, platform.dmi.get(name, NOT_KNOWN)) for name in names),
        Fact(Kind.KERNEL, "kernel", kernel),
        Fact(Kind.KERNEL, "lockdown", locked),
        Fact(Kind.NUMA, "NUMA nodes with CPUs", nodes),
    )


def command_line_facts(one: Platform, other: Platform) -> tuple[Fact, ...]:
    """Return the words of one host's kernel command line, and what it lacks of the other's.

    Words of one parameter are one fact, in their order: some add up, of others the last counts.
    """
    ours, theirs = _words(one.cmdline), _words(other.cmdline)
    if ours is None:
        return (Fact(Kind.KERNEL, "command line", NOT_KNOWN),)
    told = Fact(Kind.KERNEL, "command line", "told")
    names = sorted({*ours, *(theirs or ())})
    return (told, *(Fact(Kind.COMMAND_LINE, name, _value(ours.get(name))) for name in names))


def _words(cmdline: str | None) -> Mapping[str, str] | None:
    """Return the words by their parameter; None if they are not known."""
    if cmdline is None:
        return None
    found: dict[str, str] = {}
    for word in _WORD.findall(cmdline):
        name = word.partition("=")[0]
        if name not in _OF_ONE_BOOT:
            found[name] = f"{found[name]} {word}" if name in found else word
    return found


def _value(words: str | None) -> str | NotKnown | None:
    return NOT_KNOWN if words is not None and words.endswith(f"={_NOT_SHOWN}") else words


def unit_facts(unit: IommuUnit) -> tuple[Fact, ...]:
    """Return what an IOMMU unit is capable of."""
    return tuple(_capabilities(unit))


def _capabilities(unit: IommuUnit) -> Iterator[Fact]:
    yield Fact(Kind.IOMMU, "device TLB", _yes(unit.device_tlb))
    yield Fact(Kind.IOMMU, "scalable mode", _yes(unit.scalable))


def _yes(known: bool | None) -> str | NotKnown:  # noqa: FBT001
    if known is None:
        return NOT_KNOWN
    return "yes" if known else "no"
