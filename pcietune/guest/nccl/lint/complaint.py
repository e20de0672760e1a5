"""What a lint has to say of a topology file."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

_LINE_END = re.compile(r"\r\n|\r|\n")


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"  # NCCL stops at it, or the tree is not what was meant
    WARNING = "warning"  # it may be meant, and seldom is
    NOTE = "note"  # it is as well to know


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was found.

    Attributes:
        offset: Where, in characters from the start of the text.
        severity: How bad it is.
        rule: What kind of thing it is, in a word or two, which does not change.
        message: What is wrong, and what NCCL makes of it.
        advice: What to write instead.
    """

    offset: int
    severity: Severity
    rule: str
    message: str
    advice: str


class Complaint(msgspec.Struct, kw_only=True, frozen=True):
    """One thing that was found, as it is told.

    Attributes:
        line: From 1.
        column: In characters, from 1.
        severity: How bad it is.
        rule: What kind of thing it is.
        message: What is wrong, and what NCCL makes of it.
        advice: What to write instead.
    """

    line: int
    column: int
    severity: Severity
    rule: str
    message: str
    advice: str


def placed(found: Iterable[Found], text: str) -> list[Complaint]:
    """Return what was found with lines and columns, in the order of the text.

    Lines end as editors have them: by a line feed, a carriage return, or both.
    """
    starts = [0, *(ended.end() for ended in _LINE_END.finditer(text))]
    complaints = []
    for each in sorted(found, key=lambda one: (one.offset, one.rule, one.message)):
        line = bisect_right(starts, each.offset)
        complaints.append(
            Complaint(
                line=line,
                column=each.offset - starts[line - 1] + 1,
                severity=each.severity,
                rule=each.rule,
                message=each.message,
                advice=each.advice,
            )
        )
    return complaints
