"""Lays out a VM: its bridges, and its functions with the addresses that they will have."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.chosen import Chosen
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import Firmware, Kind
from pcietune.guest.layout.bus_numbers import starts_of, too_many
from pcietune.guest.layout.numbering import Numbering
from pcietune.guest.layout.place import Place
from pcietune.guest.layout.shape import shape_of
from pcietune.guest.plan import Cell
from pcietune.guest.wish import Expanders, Wish

_FIRST_DEVICE = 0x10  # of pcie.0; those before are the site's own
_SURE_IO_WINDOWS = 8  # of 4 KiB, which a port takes for what has I/O BARs below it
_PLACES = 0x1F - _FIRST_DEVICE  # 1f is the chip set's


@dataclass(frozen=True, slots=True)
class Laid:
    """What is laid out.

    Attributes:
        bridges: Parents before their children.
        functions: In the order of their addresses in the VM.
        warnings: What is not known of them and matters.
    """

    bridges: tuple[Bridge, ...]
    functions: tuple[Passed, ...]
    warnings: tuple[str, ...]


def lay_out(chosen: Sequence[Chosen], cells: Sequence[Cell], wish: Wish) -> Laid:
    """Return the VM's bridges and functions.

    Raises:
        BadInputError: There are not enough bus numbers, or places for root buses.
    """
    roots = shape_of(chosen, cells, wish)
    if len(roots) > _PLACES:
        raise BadInputError(
            f"the VM needs {len(roots)} root buses, and has places for {_PLACES}",
            hint=f"make one for each NUMA node: --expanders {Expanders.NODE}",
        )
    starts = starts_of(roots)
    if starts is None:
        raise too_many(chosen, cells, wish)
    names = _names(chosen, roots)
    numbering = Numbering(names, clique=0 if wish.clique else None)
    for index, (root, start) in enumerate(zip(roots, starts, strict=True)):
        numbering.add_root(root, _FIRST_DEVICE + index, start)
    return Laid(
        tuple(numbering.bridges), tuple(numbering.functions), tuple(_warnings(names, roots, wish))
    )


def _names(chosen: Iterable[Chosen], roots: Iterable[Place]) -> dict[PciAddress, str]:
    """Return the name of each function: counted as the VM will, and companions after theirs."""
    given = {each.function.address for each in chosen}
    counts: Counter[Kind] = Counter()
    names: dict[PciAddress, str] = {}
    for each in (function for root in roots for function in root.all_functions()):
        if each.function.address in given:
            name = f"{each.kind}{counts[each.kind]}"
            counts[each.kind] += 1
            names[each.function.address] = name
            for number, companion in enumerate(each.companions, start=1):
                names[companion.function.address] = f"{name}-{number}"
    return names


def _warnings(names: dict[PciAddress, str], roots: Sequence[Place], wish: Wish) -> Iterable[str]:
    functions = [function for root in roots for function in root.all_functions()]
    with_ports = {
        each.function.slot for each in functions if any(bar.is_ports for bar in each.bars or ())
    }
    if wish.firmware is Firmware.SEABIOS and len(with_ports) > _SURE_IO_WINDOWS:
        yield (
            f"{len(with_ports)} slots have I/O BARs, and each takes 4 KiB of I/O space: SeaBIOS has"
            " room for about a dozen with what the VM has else, and halts before any kernel where"
            f" it runs out: --firmware {Firmware.OVMF} goes on without"
        )
    for each in functions:
        if each.bars is None:
            yield (
                f"{names[each.function.address]} ({each.function.address}): its BARs are not known,"
                " and not in the VM's address windows: add them"
            )
