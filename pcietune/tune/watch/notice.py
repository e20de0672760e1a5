"""One thing that watch tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.model.function import PciFunction


class NoticeKind(StrEnum):
    """What kind of thing, for programs."""

    WATCHING = "watching"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    FAILS = "fails"
    MENDED = "mended"
    REPAIRED = "repaired"
    BOUND = "bound"
    DEFERRED = "deferred"
    HELD_BACK = "held-back"
    FAILED = "failed"
    TROUBLE = "trouble"
    REMARK = "remark"


GOOD = (
    NoticeKind.WATCHING,
    NoticeKind.ADDED,
    NoticeKind.MENDED,
    NoticeKind.REPAIRED,
    NoticeKind.BOUND,
    NoticeKind.REMARK,
)
"""Kinds that need nobody's attention."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One line.

    Attributes:
        kind: What kind of thing.
        text: For people: one line, behind the address if there is one.
        address: The function's, as printed; None if it is about none.
        location: The function's; None as above.
        facts: For programs, by name: words in hex, ids, causes, seconds.
    """

    kind: NoticeKind
    text: str
    address: str | None = None
    location: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def about(function: PciFunction, kind: NoticeKind, text: str, **facts: str) -> Notice:
    """Return a notice about a function."""
    return Notice(kind, text, str(function.address), function.location, facts)
