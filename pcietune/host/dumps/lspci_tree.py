"""Reads the tree that ``lspci -t`` draws: which bridge is above what, and no register.

A line goes on where its ``+``, or the backslash of the last one, stands below the ``+`` that
opened the branch (ls-tree.c of pciutils): the columns tell who is below whom.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.dumps.text_lines import Line, Place

_BUS = re.compile(r"\[([0-9a-f]{4,8}):([0-9a-f]{2})\]-")
_DEVICE = re.compile(r"([01][0-9a-f])\.([0-7])(?=  |-|$)")
_BUSES = re.compile(r"-\[([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]-")
_NO_BUSES = re.compile(r"--+")  # of a bridge whose Secondary Bus Number is 0
_FIRST = re.compile(rf"-(?:\+-)?{_BUS.pattern}(?:[-+]|$)")
_BEFORE = re.compile(r"[ |]*(?=[+\\]-)")
_IDS = re.compile(r"\[?\b([0-9a-f]{4}):([0-9a-f]{4})\b\]?$")  # at the end of a name by -n and -nn
_DRAWN = " |+-\\"
_HINT = "draw it again, as plain text: lspci -tvnn > FILE"


@dataclass(frozen=True, slots=True)
class TreeFunction:
    """What a tree says of one function.

    Attributes:
        address: Its address.
        place: Where it stands.
        above: The bridges above it, from the root bus on.
        buses: Secondary and Subordinate Bus Number of a bridge, 0 where it leads nowhere; None of
            any other function.
        ids: Vendor and Device ID, 16 bits each; None if not printed, as of all bridges.
    """

    address: PciAddress
    place: Place
    above: tuple[PciAddress, ...]
    buses: tuple[int, int] | None
    ids: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Branch:
    """Where functions hang: a bus, or the buses of a bridge (bus None), or those of the host.

    Attributes:
        column: Of its ``+`` and backslash, from 0.
        above: The bridges above it, from the root bus on.
        domain: None if further ones follow.
        bus: None if several buses hang there.
    """

    column: int
    above: tuple[PciAddress, ...]
    domain: int | None = None
    bus: int | None = None


def is_tree(line: str) -> bool:
    """Return whether a line can be the first of a tree."""
    return _FIRST.match(line) is not None


def begins_in_tree(line: str) -> bool:
    """Return whether a line of a tree can be none that goes on the one before it."""
    return line[0] in _DRAWN


def read_lspci_tree(lines: Iterable[Line], source: str) -> dict[PciAddress, TreeFunction]:
    """Return what the tree in the text called ``source`` says of each function.

    Raises:
        BadInputError: It is damaged, as a tree is whose blanks were taken for decoration.
    """
    reader: _Reader | None = None
    for number, line in lines:
        if reader is None:
            if is_tree(line):
                reader = _Reader(source)
                reader.begin(number, line)
        elif not line:
            break
        else:
            reader.go_on(number, line)
    return {} if reader is None else reader.functions


class _Reader:
    """Reads line by line.

    Attributes:
        functions: What was read.
    """

    def __init__(self, source: str) -> None:
        self.functions: dict[PciAddress, TreeFunction] = {}
        self._source = source
        self._open: list[_Branch] = []

    def begin(self, number: int, line: str) -> None:
        """Take the first line.

        Raises:
            BadInputError: It is damaged.
        """
        self._read_below(_Branch(1, ()), line, 1, Place(self._source, number))

    def go_on(self, number: int, line: str) -> None:
        """Take a further line.

        Raises:
            BadInputError: It is damaged, or does not fit to those before it.
        """
        place = Place(self._source, number)
        before = _BEFORE.match(line)
        column = before.end() if before else None
        while self._open and self._open[-1].column != column:
            self._open.pop()
        if column is None or not self._open:
            raise place.refused(
                f"{line.strip()[:60]!r} does not line up with the tree above it", hint=_HINT
            )
        branch = self._open[-1]
        if line[column] == "\\":
            self._open.pop()
        self._read_at(branch, line, column + 2, place)

    def _read_below(self, branch: _Branch, line: str, column: int, place: Place) -> None:
        """Read what hangs from a branch, of which the first is on this line."""
        if line.startswith("+-", column):
            self._open.append(branch)
            self._read_at(branch, line, column + 2, place)
        elif branch.bus is None:
            self._read_at(branch, line, column, place)
        elif line.startswith("--", column):
            self._read_at(branch, line, column + 2, place)
        elif column != len(line):
            raise _unreadable(line, column, place)

    def _read_at(self, branch: _Branch, line: str, column: int, place: Place) -> None:
        """Read one bus, or one function, and what is below it on this line."""
        bus, device = _BUS.match(line, column), _DEVICE.match(line, column)
        if bus and branch.bus is None and branch.domain in (None, int(bus[1], 16)):
            below = _Branch(bus.end(), branch.above, int(bus[1], 16), int(bus[2], 16))
            self._read_below(below, line, bus.end(), place)
        elif device and branch.domain is not None and branch.bus is not None:
            address = PciAddress(branch.domain, branch.bus, int(device[1], 16), int(device[2]))
            self._read_device(TreeFunction(address, place, branch.above, None, None), line, device)
        else:
            raise _unreadable(line, column, place)

    def _read_device(self, function: TreeFunction, line: str, device: re.Match[str]) -> None:
        """Read what is behind a function's device and function number: its buses, or its name."""
        rest = line[device.end() :]
        if buses := _BUSES.match(rest):
            numbers = (int(buses[1], 16), int(buses[2] or buses[1], 16))
            bridge = replace(function, buses=numbers)
            self._add(bridge)
            self._read_below_bridge(bridge, numbers[0], line, device.end() + buses.end())
        elif _NO_BUSES.fullmatch(rest):
            self._add(replace(function, buses=(0, 0)))
        elif rest.startswith("-"):
            raise _unreadable(line, device.end(), function.place)
        else:
            ids = _IDS.search(rest)
            told = (int(ids[1], 16), int(ids[2], 16)) if ids else None
            self._add(replace(function, ids=told))

    def _read_below_bridge(
        self, bridge: TreeFunction, secondary: int, line: str, column: int
    ) -> None:
        """Read what is below a bridge, and stands from ``column`` on."""
        if not line.startswith("-", column):
            raise _unreadable(line, column, bridge.place)
        several = _BUS.match(line, column + len("-+-"))
        above = (*bridge.above, bridge.address)
        below = _Branch(column + 1, above, bridge.address.domain, None if several else secondary)
        self._read_below(below, line, column + 1, bridge.place)

    def _add(self, function: TreeFunction) -> None:
        before = self.functions.setdefault(function.address, function)
        if before is not function:
            raise function.place.refused(
                f"{function.address} is here for the second time, first in line "
                f"{before.place.line}: these are two trees",
                hint="put each into a file of its own, and name one",
            )


def _unreadable(line: str, column: int, place: Place) -> BadInputError:
    return place.refused(f"{line[column : column + 60]!r} is no part of a tree", hint=_HINT)
