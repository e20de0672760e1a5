"""What a VM's devices need of its bus numbers and of its memory addresses.

The windows are what the firmware that wants more of them takes. SeaBIOS rounds the window of each
bridge up to a multiple of the largest BAR below it (src/fw/pciinit.c, pci_bios_check_devices): a
GPU with BARs of 128 GiB and 32 MiB takes 256 GiB. OVMF sets at least 1 GiB of prefetchable memory,
and both 2 MiB of other memory, aside for each port that takes hot-plug.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.plan import Budget

_BUSES = 256  # in the VM's only domain, of which pcie.0 has one
_MIB = 1 << 20
_GIB = 1 << 30
_DEFAULT_64_MIB = 32 * 1024  # QEMU's own q35-pcihost.pci-hole64-size
_SURE_32_MIB = 768  # q35's window begins at 3 GiB and ends below the chip set's own, at fc000000
_ROOT = "pcie.0"


@dataclass(frozen=True, slots=True)
class _Window:
    """A range of addresses, in bytes."""

    size: int
    align: int


def budget_of(bridges: Sequence[Bridge], functions: Sequence[Passed]) -> Budget:
    """Return the budget of a layout; BARs that are not known are not in it.

    Args:
        bridges: Parents before their children.
        functions: What is below them.
    """
    large = _below(_ROOT, bridges, ((each.parent, each.bars_64) for each in functions), _GIB)
    small = _below(_ROOT, bridges, ((each.parent, _small(each)) for each in functions), 2 * _MIB)
    own = _GIB  # for what the site itself has on pcie.0
    return Budget(
        buses=len(bridges),
        spare_buses=_BUSES - 1 - len(bridges),
        memory_64_mib=max(_DEFAULT_64_MIB, _power_of_two(large.size + own) // _MIB),
        memory_32_mib=small.size // _MIB,
    )


def budget_warnings(budget: Budget) -> Iterator[str]:
    """Yield what may be too large for a VM."""
    if budget.memory_32_mib > _SURE_32_MIB:
        yield (
            f"the BARs below 4 GiB need {budget.memory_32_mib} MiB there, and more than"
            f" {_SURE_32_MIB} MiB may not be had: look in the VM for functions without addresses,"
            " or give it fewer"
        )


def address_bits(budget: Budget, memory_mib: int) -> int:
    """Return how many bits a physical address of the VM has.

    OVMF begins the 64-bit window at a multiple of its size, behind the VM's memory
    (OvmfPkg/Library/PlatformInitLib/MemDetect.c).

    Args:
        budget: The VM's.
        memory_mib: Its memory.
    """
    window = budget.memory_64_mib * _MIB
    memory_end = memory_mib * _MIB + 4 * _GIB  # at most: what is not below 4 GiB is above
    return (-(-memory_end // window) * window + window - 1).bit_length()


def _small(function: Passed) -> list[int]:
    """Return its BARs below 4 GiB, with 1 MiB for its ROM, which no list of BARs has."""
    rom = [] if function.physical_function else [_MIB]
    return [*function.bars_32, *rom]


def _below(
    root: str, bridges: Sequence[Bridge], bars: Iterable[tuple[str, list[int]]], least: int
) -> _Window:
    """Return the window of all that is below a root bus.

    Args:
        root: Its name.
        bridges: Parents before their children.
        bars: Sizes in bytes, by the bridge that they are below.
        least: Of each bridge, in bytes.
    """
    parts: defaultdict[str, list[_Window]] = defaultdict(list)
    for parent, sizes in bars:
        parts[parent] += [_Window(size, size) for size in sizes]
    for bridge in reversed(bridges):
        parts[bridge.parent].append(_around(parts[bridge.name], least))
    return _around(parts[root], least)


def _around(parts: Sequence[_Window], least: int) -> _Window:
    """Return the window that holds the parts, the most aligned first, so without gaps."""
    align = max((part.align for part in parts), default=least)
    size = sum(part.size for part in parts)
    return _Window(max(-(-size // align) * align, least), align)


def _power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()
