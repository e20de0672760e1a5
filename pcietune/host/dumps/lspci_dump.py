"""Reads what ``lspci -xxxx`` printed, with -v text around the bytes or without."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.host.dumps.text_lines import Line, Place, has_offset
from pcietune.host.dumps.verbose.function_text import registers_of
from pcietune.host.dumps.verbose.names import named_ids
from pcietune.host.recordings.manifest import UnreadConfig

_ADDRESS = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
# -PP prints the bridges above a function before it: 0000:00:1c.3/08:00.0/09:01.0
# and setpci -v a register's place behind it: 0000:01:00.0 (cap 10 @60) @70
_HEADER = re.compile(rf"({_ADDRESS})(?:/{_ADDRESS})*(?= (?!\(e?cap |@))")
_BY_SLOTS = re.compile(rf"{_ADDRESS}(?:/[0-9a-f]{{2}}\.[0-7])+ ")  # lspci -P: buses are not told
_ROW = re.compile(r"\s*([0-9a-fA-F]{2,3}):(\s[0-9a-fA-F\s]{46,})")  # and then 16 bytes
_LIKE_A_ROW = re.compile(r"\s*[0-9a-z]{1,4}:(?:\s+[0-9a-z]{1,2}\b){2}", re.IGNORECASE)
# -n prints `0302: 10de:20f3`, -nn `3D controller [0302]: NVIDIA ... [10de:20f3]`
_IDS = re.compile(r".*?\b([0-9a-f]{4})\]?: (?:.*\[)?([0-9a-f]{4}):([0-9a-f]{4})\b")
_INSERTED = re.compile(r"(?:lspci|pcilib): ")  # stderr, where it went to the same file
_NUMBER_TOLD = re.compile(r"\s+(NUMA node|IOMMU group): ([0-9]{1,9})")
_DRIVER_TOLD = re.compile(r"\s+Kernel driver in use: (\w[\w-]*)")

_ROW_SIZE = 16
_PRINTED = 3 * _ROW_SIZE - 1  # characters of its bytes; before them an offset, a colon and a blank
_OFFSETS = [f"{offset:02x}" for offset in range(0, 4096, _ROW_SIZE)]
_SIZES = (0, 64, 128, 256, 4096)
"""Bytes that lspci prints of a function: none; -x, or not root (128: CardBus); -xxx; -xxxx."""

_DUMP_AGAIN = "run it again as root: lspci -D -xxxx"


@dataclass(slots=True)
class DumpedFunction:
    """What a dump says of one function.

    Attributes:
        address: Its address; domain 0 where none is printed.
        place: Where it begins.
        data: The bytes of its Configuration Space.
        printed: Class (16 bits), Vendor and Device ID as -n and -nn print them, or as names tell
            them: where the bytes do not, as of a VF or of what does not answer. None if not
            printed, ffff for each that is not told.
        driver: As -v tells it; None if not told.
        group: Number of its IOMMU group; None if not told.
        numa_node: None if not told.
        unread: What was not read of its Configuration Space; None if the bytes show that.
        lines: What is printed of it, until there are bytes.
    """

    address: PciAddress
    place: Place
    data: bytearray = field(default_factory=bytearray)
    printed: tuple[int, int, int] | None = None
    driver: str | None = None
    group: int | None = None
    numa_node: int | None = None
    unread: UnreadConfig | None = None
    lines: list[str] = field(default_factory=list)

    def tell(self, line: str) -> None:
        """Take a line of what -v prints, and remember what concerns us."""
        self.lines.append(line)
        if number := _NUMBER_TOLD.fullmatch(line):
            if number[1] == "IOMMU group":
                self.group = int(number[2])
            else:
                self.numa_node = int(number[2])
        elif driver := _DRIVER_TOLD.fullmatch(line):
            self.driver = driver[1]


def is_lspci(line: str) -> bool:
    """Return whether a line can be one of lspci's: a function, or a row of bytes."""
    return _HEADER.match(line) is not None or _row(line.partition("\n")[0]) is not None


def begins_in_dump(line: str) -> bool:
    """Return whether a line of a dump can be none that goes on the one before it."""
    forms = (_HEADER, _LIKE_A_ROW, _INSERTED)
    return has_offset(line) or any(form.match(line) for form in forms)


def read_lspci_dump(lines: Iterable[Line], source: str) -> Iterator[DumpedFunction]:
    """Yield what a dump called ``source`` says of each function.

    Raises:
        BadInputError: It is damaged, or holds more than one dump.
    """
    reader = _Reader(source)
    for number, line in lines:
        before = reader.take(number, line)
        if before is not None:
            yield _whole(before)
    if reader.function is not None:
        yield _whole(reader.function, ended=reader.ended)


class _Reader:
    """Reads line by line; millions of them, so the commonest come first.

    Attributes:
        function: What is being read; None before the first function.
        ended: Whether an empty line followed it: what follows that may be a shell's prompt.
    """

    def __init__(self, source: str) -> None:
        self.function: DumpedFunction | None = None
        self._source = source
        self.ended = True
        self._seen: dict[PciAddress, int] = {}
        self._with_domain: bool | None = None

    def take(self, number: int, line: str) -> DumpedFunction | None:
        """Take a line; return the function that was read before, if it begins another.

        Raises:
            BadInputError: It is none of lspci's, or does not fit to those before it.
        """
        if "\n" in line:
            self._take_rows(number, line)
            return None
        row = _row(line)
        if row is not None:
            self._add_row(*row, number)
            return None
        place = Place(self._source, number)
        header = _HEADER.match(line)
        if header is None:
            self._take_text(line, place)
            return None
        before, self.function = self.function, self._begin(header, place)
        self.function.lines.append(line)
        ids = _IDS.match(line, header.end())
        if ids:
            self.function.printed = (int(ids[1], 16), int(ids[2], 16), int(ids[3], 16))
        return before

    def _take_rows(self, number: int, rows: str) -> None:
        """Take rows that come as one: at once if they are what must follow, else each by itself."""
        lines = rows.split("\n")
        offsets = [line[: -_PRINTED - 2] for line in lines]
        here = 0 if self.function is None else len(self.function.data)
        first = here // _ROW_SIZE
        wanted = _OFFSETS[first : first + len(offsets)]
        if self.function is not None and (here or not self.ended) and offsets == wanted:
            self.function.data += bytes.fromhex(" ".join([line[-_PRINTED:] for line in lines]))
            return
        for at, row in enumerate(lines, start=number):
            self.take(at, row)

    def _take_text(self, line: str, place: Place) -> None:
        if not line:
            self.ended = True
        elif line[0].isspace():
            if self.function is not None:
                self.function.tell(line)
        elif _BY_SLOTS.match(line):
            raise place.refused(
                f"{line.split(maxsplit=1)[0]} is the path of a function, without its bus",
                hint="print paths with the buses in them: lspci -PP instead of -P",
            )
        elif _LIKE_A_ROW.match(line) or not (self.ended or _INSERTED.match(line)):
            raise place.refused(
                f"{line[:60]!r} is no line of lspci's: a row has an offset and 16 bytes in hex",
                hint=_DUMP_AGAIN,
            )

    def _begin(self, header: re.Match[str], place: Place) -> DumpedFunction:
        first, *_, last = (header[1], *header[0].split("/"))
        with_domain = first.count(":") == 2
        if self._with_domain not in (None, with_domain):
            raise place.refused(
                f"{first} is printed {'with' if with_domain else 'without'} its domain, those "
                f"above {'without' if with_domain else 'with'}: these are parts of two dumps",
                hint=_DUMP_AGAIN,
            )
        domain = f"{first.split(':')[0]}:" if with_domain and last.count(":") == 1 else ""
        address = PciAddress.parse(f"{domain}{last}")
        if address in self._seen:
            raise place.refused(
                f"{address} is here for the second time, first in line {self._seen[address]}: "
                "these are two dumps",
                hint="put each into a file of its own, and name one",
            )
        self._with_domain = with_domain
        self._seen[address] = place.line
        self.ended = False
        return DumpedFunction(address, place)

    def _add_row(self, offset: int, values: bytes, number: int) -> None:
        function = self.function
        if function is None or (self.ended and not function.data):
            raise Place(self._source, number).refused("bytes of no function", hint=_DUMP_AGAIN)
        here = len(function.data)
        if offset != here:
            before = f"behind the row at {here - len(values):#04x}" if here else "as the first row"
            raise Place(self._source, number).refused(
                f"{function.address}: the row at {offset:#04x} comes {before}", hint=_DUMP_AGAIN
            )
        function.data += values


def _row(line: str) -> tuple[int, bytes] | None:
    """Return offset and bytes of a row; None if it is none."""
    row = _ROW.fullmatch(line)
    if row is None:
        return None
    try:
        values = bytes.fromhex(row[2])
    except ValueError:
        return None
    return (int(row[1], 16), values) if len(values) == _ROW_SIZE else None


def _whole(function: DumpedFunction, *, ended: bool = True) -> DumpedFunction:
    """Return a function with the bytes that are told of it.

    Args:
        function: It.
        ended: Whether something shows that no lines of it were cut off.

    Raises:
        BadInputError: Some of its bytes were.
    """
    lines, function.lines = function.lines, []
    if not function.data:
        _take_registers(function, lines, ended=ended)
    if len(function.data) not in _SIZES:
        raise function.place.refused(
            f"{function.address} ends at {len(function.data):#05x}: lspci prints 64, 256 or 4096 "
            "bytes, so the rest was cut off",
            hint=_DUMP_AGAIN,
        )
    return function


def _take_registers(function: DumpedFunction, lines: list[str], *, ended: bool) -> None:
    """Take what -vvv tells of a function's registers."""
    function.printed = function.printed or named_ids(lines[0])
    told = registers_of(lines[0], lines[1:], function.printed, ended=ended)
    if told is not None:
        function.data, function.unread = told
