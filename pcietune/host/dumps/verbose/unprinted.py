"""Tells functions without Extended Capabilities from those of which lspci could read none.

Of both it prints nothing (show_ext_caps of pciutils' ls-ecaps.c, and config_fetch of its lspci.c).
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pcietune.address import PciAddress
from pcietune.host.dumps.lspci_dump import DumpedFunction
from pcietune.host.dumps.verbose.function_text import NO_EXTENDED, NOT_IN_WORDS
from pcietune.registers.config_space import CONVENTIONAL_SIZE

_FIRST_HEADER = (CONVENTIONAL_SIZE, CONVENTIONAL_SIZE + 4)  # 0 where there is none


def settle_unprinted(
    functions: Mapping[PciAddress, DumpedFunction], above: Mapping[PciAddress, Sequence[PciAddress]]
) -> None:
    """Take functions for such without Extended Capabilities where lspci could have read some.

    It could if it did so of the port right above, or on the same root bus: what leads to one
    function of these leads to the other (drivers/pci/probe.c, pci_cfg_space_size).

    Args:
        functions: All of a host.
        above: The bridges above each, from the root bus on.
    """
    reached = {address for address, function in functions.items() if _has_extended(function)}
    root_buses = {(a.domain, a.bus) for a in reached if not above[a]}
    for address, function in functions.items():
        unread, ports = function.unread, above[address]
        if unread is None or unread.reason != NO_EXTENDED:
            continue
        if ports[-1] in reached if ports else (address.domain, address.bus) in root_buses:
            ranges = tuple(part for each in unread.ranges for part in _without_header(each))
            function.unread = replace(unread, ranges=ranges, reason=NOT_IN_WORDS)


def _has_extended(function: DumpedFunction) -> bool:
    return any(function.data[slice(*_FIRST_HEADER)])


def _without_header(part: tuple[int, int]) -> list[tuple[int, int]]:
    start, end = part
    first, behind = _FIRST_HEADER
    if end <= first or behind <= start:
        return [part]
    return [each for each in ((start, first), (behind, end)) if each[0] < each[1]]
