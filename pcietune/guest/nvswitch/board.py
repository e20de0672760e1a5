"""Boards with NVSwitches: Fabric Manager's partitions of each, and what a VM may be given whole.

Tables are of the Fabric Manager User Guide (release 2.3), shared NVSwitch and full passthrough
virtualization models; ids stay the same where Fabric Manager does not support all of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import BadInputError, quoted
from pcietune.guest.nvswitch.partition import Partition, Table, modules_text


class Generation(StrEnum):
    """Which NVSwitches a board has."""

    AMPERE = "ampere"  # PCI functions; Fabric Manager trains the links, and needs GPUs for it
    HOPPER = "hopper"  # PCI functions; hardware trains the links
    BLACKWELL = "blackwell"  # no PCI functions: managed by functions of a ConnectX-7


@dataclass(frozen=True, slots=True)
class Shape:
    """What a VM may be given whole, NVSwitches and all.

    Attributes:
        gpus: How many GPUs.
        switches: How many NVSwitches with them; of Blackwell none is a PCI function.
        links: How many NVLinks each GPU has then; None if not known.
    """

    gpus: int
    switches: int
    links: int | None


@dataclass(frozen=True, slots=True)
class Board:
    """GPUs and the NVSwitches between them.

    Attributes:
        name: As plans and ``--board`` have it.
        title: For people.
        generation: Which NVSwitches it has.
        partitions: What Fabric Manager can activate.
        shapes: What a VM may be given whole.
    """

    name: str
    title: str
    generation: Generation
    partitions: Table
    shapes: tuple[Shape, ...]

    @property
    def modules(self) -> frozenset[int]:
        """All of its GPUs, by module."""
        return frozenset[int]().union(*(partition.modules for partition in self.partitions))

    @property
    def gpus(self) -> int:
        """How many GPUs it has."""
        return len(self.modules)


def _rows(first: int, links: int, *modules: str) -> Table:
    """Return partitions whose ids count up from the first; ``1-4,9-12`` are modules."""
    rows = []
    for number, text in enumerate(modules, start=first):
        spans = [span.split("-") for span in text.split(",")]
        held = frozenset(n for span in spans for n in range(int(span[0]), int(span[-1]) + 1))
        rows.append(Partition(number, held, links))
    return tuple(rows)


def _singles(first: int, gpus: int) -> Table:
    return _rows(first, 0, *(str(module) for module in range(1, gpus + 1)))


def _ampere_two(links: int) -> Table:
    halves = ("1-8", "9-16", "1-4,9-12", "5-8,13-16", "1-4,13-16", "5-8,9-12")
    quarters = ("1-4", "5-8", "9-12", "13-16")
    pairs = ("1,2", "3,4", "5,6", "7,8", "9,10", "11,12", "13,14", "15,16")
    return _rows(0, links, "1-16", *halves, *quarters, *pairs) + _singles(19, 16)


def _ampere_one(links: int, tray: range) -> Table:
    """Return those of two boards that one of them has all GPUs of."""
    return tuple(each for each in _ampere_two(links) if each.modules <= set(tray))


def _hopper(links: int) -> Table:
    return _rows(0, links, "1-8", "1-4", "5-8", "1,3", "2,4", "5,7", "6,8") + _singles(7, 8)


def _blackwell(links: int) -> Table:
    return _rows(1, links, "1-8", "1-4", "5-8", "1,2", "3,4", "5,6", "7,8") + _singles(8, 8)


def _shapes(*rows: tuple[int, int, int | None]) -> tuple[Shape, ...]:
    return tuple(Shape(*row) for row in (*rows, (1, 0, 0)))


_BOTTOM, _TOP = range(1, 9), range(9, 17)  # modules; which a board's are, its straps say
_A100 = ((8, 6, 12), (4, 3, 6), (2, 1, 2))
_A800 = ((8, 6, 8), (4, 3, None), (2, 1, None))


def _ampere(
    name: str, title: str, links: int, shapes: tuple[tuple[int, int, int | None], ...]
) -> tuple[Board, ...]:
    """Return one board, the same strapped for the top tray, and two boards."""
    one, generation = _shapes(*shapes), Generation.AMPERE
    return (
        Board(name, f"{title}, one board", generation, _ampere_one(links, _BOTTOM), one),
        Board(
            f"{name}-top",
            f"{title}, one board strapped for the top tray",
            generation,
            _ampere_one(links, _TOP),
            one,
        ),
        Board(
            f"{name}-two",
            f"{title}, two boards",
            generation,
            _ampere_two(links),
            _shapes((16, 12, links), *shapes),
        ),
    )


BOARDS = (
    *_ampere("a100", "HGX A100", 12, _A100),
    *_ampere("a800", "HGX A800", 8, _A800),
    Board("hopper", "HGX H100, H200 or H20", Generation.HOPPER, _hopper(18), _shapes((8, 4, 18))),
    Board("h800", "HGX H800", Generation.HOPPER, _hopper(8), _shapes((8, 4, 8))),
    Board(
        "blackwell", "HGX B200 or B300", Generation.BLACKWELL, _blackwell(18), _shapes((8, 0, 18))
    ),
)


def board_with_modules(board: Board, modules: Iterable[int]) -> Board:
    """Return the board as its modules show it: of one Ampere board they may be 9 to 16.

    Raises:
        BadInputError: It has no such module.
    """
    known = set(modules)
    for each in (board, *(b for b in BOARDS if b.name == f"{board.name}-top")):
        if known <= each.modules:
            return each
    raise BadInputError(
        f"{modules_text(known - board.modules)}: not on {board.title}",
        hint="Module ID of nvidia-smi -q is what counts, no address or index",
    )


def board_named(name: str) -> Board:
    """Return a board by its name.

    Raises:
        BadInputError: There is none of it.
    """
    for board in BOARDS:
        if board.name == name:
            return board
    meant = [board for board in BOARDS if name.upper() in re.findall(r"\w+", board.title)]
    raise BadInputError(
        f"{quoted(name)}: no board with NVSwitches that pcietune knows",
        hint=" or ".join(f"{board.name} is {board.title}" for board in meant)
        or f"one of {', '.join(board.name for board in BOARDS)}",
    )
