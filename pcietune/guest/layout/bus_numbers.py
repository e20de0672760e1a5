"""Where the VM's root buses begin, and whether there are enough numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pcietune.errors import BadInputError
from pcietune.guest.chosen import Chosen
from pcietune.guest.layout.place import Place
from pcietune.guest.layout.shape import shape_of
from pcietune.guest.plan import Cell
from pcietune.guest.wish import Layout, Wish

FIRST = 0x20  # those before are the site's own, below pcie.0
_END = 0x100  # of the numbers in a VM's only domain
_STEPS = (0x20, 0x10, 8, 4, 2, 1)  # a root bus begins at a multiple: the largest that fits


def starts_of(roots: Sequence[Place]) -> list[int] | None:
    """Return the number of each root bus, with numbers to spare behind it; None if too few are."""
    return next((starts for step in _STEPS if (starts := _stepped(roots, step)) is not None), None)


def _stepped(roots: Iterable[Place], step: int) -> list[int] | None:
    starts = []
    end = FIRST
    for root in roots:
        starts.append(-(-end // step) * step)
        end = starts[-1] + root.buses
    return starts if end <= _END else None


def too_many(chosen: Sequence[Chosen], cells: Sequence[Cell], wish: Wish) -> BadInputError:
    """Return what to say of functions for which there are not enough numbers."""
    needed = sum(root.buses for root in shape_of(chosen, cells, wish))
    flat = replace(wish, layout=Layout.PORTS)
    if starts_of(shape_of(chosen, cells, flat)) is not None:
        hint = f"give each a root port instead of switches: --layout {Layout.PORTS}"
    else:
        fitting = next(
            count
            for count in range(len(chosen) - 1, 0, -1)
            if starts_of(shape_of(chosen[:count], cells, wish)) is not None
        )
        hint = f"{fitting} of its {len(chosen)} functions fit"
    return BadInputError(
        f"the VM's ports need {needed} bus numbers, and {_END - FIRST} are free", hint=hint
    )
