"""The undo record as text: a header and then one JSON object per line, oldest first."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.model.undo import (
    AttributeChange,
    Change,
    GroupTypeChange,
    Outcome,
    RecordedChange,
    RegisterChange,
    UndoRecord,
)

_FORMAT = "pcietune undo record"
_VERSION = 1


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="header"):
    """The first line.

    Attributes:
        boot_id: Of the boot whose changes follow.
        pcietune: Version of the pcietune that began the record.
        format: Always the same words.
        version: Of the format.
    """

    boot_id: str
    pcietune: str
    format: str = _FORMAT
    version: int = _VERSION


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="run"):
    """A run of pcietune makes the changes that follow.

    Attributes:
        pcietune: Its version.
    """

    pcietune: str


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="begun"):
    """A change of a register that is about to be made."""

    change: RegisterChange


class BegunAttribute(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="begun-attribute"
):
    """A change of a sysfs attribute that is about to be made."""

    change: AttributeChange


class BegunGroupType(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="begun-group-type"
):
    """A switch of an IOMMU group's type that is about to be made."""

    change: GroupTypeChange


class Settled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="settled"):
    """How changes of a switch group ended.

    Kept: all that had not ended. Undone: all of the last run, also if it had said kept before.
    """

    group: str
    outcome: Outcome


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="found"):
    """Wanted bits that were already set."""

    change: RegisterChange


Line = Header | Run | Begun | BegunAttribute | BegunGroupType | Settled | Found


def begun(change: Change) -> Begun | BegunAttribute | BegunGroupType:
    """Return the line of a change that is about to be made."""
    match change:
        case RegisterChange():
            return Begun(change)
        case AttributeChange():
            return BegunAttribute(change)
        case GroupTypeChange():
            return BegunGroupType(change)


def encode_lines(lines: Iterable[Line]) -> bytes:
    """Return the lines as they stand in the file, each with its newline."""
    return b"".join(msgspec.json.encode(line, enc_hook=str) + b"\n" for line in lines)


def whole_lines(data: bytes) -> bytes:
    """Return ``data`` without a last line that a kill or a full disk cut off."""
    return data[: data.rfind(b"\n") + 1]


def decode_record(data: bytes, path: Path) -> UndoRecord:
    """Return what the file at ``path`` says.

    Raises:
        BadInputError: A line is not one that pcietune writes, or the format is not known.
    """
    lines = [
        _decode(line, path, number)
        for number, line in enumerate(whole_lines(data).splitlines(), start=1)
    ]
    header = lines[0] if lines else None
    if not isinstance(header, Header) or header.format != _FORMAT or header.version != _VERSION:
        raise _broken(path, 1, f"it is not the header of a {_FORMAT}, version {_VERSION}")
    changes: list[RecordedChange] = []
    open_ones: dict[str, list[int]] = {}  # by group: which changes have not ended yet
    found: list[RegisterChange] = []
    first_of_run = 0
    for number, line in enumerate(lines[1:], start=2):
        match line:
            case Begun(change) | BegunAttribute(change) | BegunGroupType(change):
                open_ones.setdefault(change.group, []).append(len(changes))
                changes.append(RecordedChange(change, Outcome.BEGUN))
            case Run():
                first_of_run = len(changes)
            case Settled(group, outcome):
                ended = open_ones.pop(group, [])
                if outcome is Outcome.UNDONE:
                    ended = _of_group(changes, group, first_of_run)
                for index in ended:
                    changes[index] = RecordedChange(changes[index].entry, outcome)
            case Found(change):
                found.append(change)
            case Header():
                raise _broken(path, number, "it is a second header")
    return UndoRecord(header.boot_id, tuple(changes), tuple(found))


def _of_group(changes: list[RecordedChange], group: str, first: int) -> list[int]:
    """Return the indices of a switch group's changes, from the first of a run on."""
    return [i for i in range(first, len(changes)) if changes[i].entry.group == group]


def _decode(line: bytes, path: Path, number: int) -> Line:
    try:
        return msgspec.json.decode(line, type=Line, dec_hook=_decode_address)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BadInputError) as error:
        raise _broken(path, number, str(error)) from error


def _decode_address(_kind: type, value: object) -> PciAddress:
    """Decode the one class of a change that msgspec does not know."""
    return PciAddress.parse(str(value))


def _broken(path: Path, number: int, what: str) -> BadInputError:
    return BadInputError(
        f"{path}:{number}: the undo record is broken: {what}",
        hint=f"look at it, then remove it: rm {path}; what it would undo stays as it is",
    )
