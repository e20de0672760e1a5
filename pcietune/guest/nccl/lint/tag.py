"""One tag of a topology file, read by the rules of NCCL's own reader.

Source: NCCL 2.30, xmlGetNode, xmlGetToken and xmlGetValue in src/graph/xml.cc.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from pcietune.errors import quoted
from pcietune.guest.nccl.dialect import (
    LONGEST_KEY,
    LONGEST_NAME,
    LONGEST_VALUE,
)
from pcietune.guest.nccl.lint.complaint import Found, Severity

_ENDS_TOKEN = re.compile(r"[ >/\n\r=]")
_STOPS = "NCCL stops here, and with it every rank"


class TagKind(Enum):
    """What a tag does."""

    OPEN = auto()
    CLOSE = auto()
    SINGLE = auto()
    COMMENT = auto()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute.

    Attributes:
        key: Its name; empty where NCCL makes one of a blank too many.
        value: Its value.
        offset: Where it begins, in characters from the start of the text.
    """

    key: str
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag.

    Attributes:
        kind: What it does.
        name: Of the element.
        attributes: In their order.
        offset: Of its ``<``, in characters from the start of the text.
        end: Of what follows it.
    """

    kind: TagKind
    name: str
    attributes: tuple[Attribute, ...]
    offset: int
    end: int


class RefusedError(Exception):
    """NCCL reads no further; ``found`` tells where and why."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.message)
        self.found = found


class TagReader:
    """Reads one tag."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._start = offset
        self._at = offset + 1

    def read(self) -> Tag:
        """Return the tag whose ``<`` is at the offset.

        Raises:
            RefusedError: NCCL would not read it.
        """
        name, _, last = self._token(may_have_value=False)
        if name.startswith("!--"):
            return self._comment()
        if not name and last == "/":
            name, _, last = self._token(may_have_value=False)
            self._must_end(last, f"the closing tag of {quoted(name)}")
            return Tag(TagKind.CLOSE, name, (), self._start, self._at)
        attributes = []
        while last == " ":
            offset = self._at
            key, value, last = self._token(may_have_value=True)
            attributes.append(Attribute(key, value, offset))
        kind = TagKind.OPEN
        if last == "/":
            kind = TagKind.SINGLE
            _, _, last = self._token(may_have_value=False)
        self._must_end(last, f"{quoted(name)}")
        return Tag(kind, name, tuple(attributes), self._start, self._at)

    def _token(self, *, may_have_value: bool) -> tuple[str, str, str]:
        """Return a name, the value behind it if there is one, and the character after these."""
        ended = _ENDS_TOKEN.search(self._text, self._at)
        end = len(self._text) if ended is None else ended.start()
        name = self._text[self._at : end]
        longest = LONGEST_KEY if ended is not None and ended[0] == "=" else LONGEST_NAME
        if len(name.encode()) > longest:
            self._refuse("too-long", f"a name of more than {longest} bytes", "write a shorter one")
        if ended is None:
            self._refuse("end-of-file", "the file ends within a tag", "write the whole tag")
        if ended[0] != "=":
            self._at = ended.end()
            return name, "", ended[0]
        if not may_have_value:
            self._at = ended.start()
            self._refuse(
                "equals-sign",
                f"an equals sign behind {quoted(name)}, where no attribute is",
                "write one blank, no tab, before each attribute, and none before a comment's =",
            )
        self._at = ended.end()
        return name, *self._value(name)

    def _value(self, key: str) -> tuple[str, str]:
        quote = self._text[self._at : self._at + 1]
        if quote not in {'"', "'"}:
            self._refuse(
                "no-quote",
                f"no quote right behind {quoted(f'{key}=')}",
                'write key="value", without blanks around the equals sign',
            )
        end = self._text.find(quote, self._at + 1)
        value = self._text[self._at + 1 : len(self._text) if end < 0 else end]
        if len(value.encode()) > LONGEST_VALUE:
            self._refuse(
                "too-long",
                f"{quoted(key)} has a value of more than {LONGEST_VALUE} bytes",
                "write a shorter one, or close the quote",
            )
        if end < 0 or end + 1 == len(self._text):
            self._refuse("end-of-file", "the file ends within a tag", "write the whole tag")
        self._at = end + 2
        return value, self._text[end + 1]

    def _comment(self) -> Tag:
        end = self._text.find("-->", self._start + len("<!--"))
        if end < 0:
            self._at = self._start
            self._refuse("end-of-file", "a comment has no end", "write --> where it ends")
        return Tag(TagKind.COMMENT, "", (), self._start, end + len("-->"))

    def _must_end(self, last: str, subject: str) -> None:
        """Refuse a tag that goes on where it had to end."""
        if last == ">":
            return
        self._at -= 1
        rules = {
            "\n": ("line-break", "a line break", "write all its attributes on one line"),
            "\r": ("line-break", "a line break", "write all its attributes on one line"),
            "\t": ("tab", "a tab", "write one blank"),
            " ": ("blank", "a blank", "write > right behind it"),
        }
        other = "character", f"the character {quoted(last)}", "write > there"
        rule, what, advice = rules.get(last, other)
        self._refuse(rule, f"{what} in the tag of {subject}, where NCCL wants >", advice)

    def _refuse(self, rule: str, message: str, advice: str) -> NoReturn:
        """Raise what is wrong at the place that was come to."""
        message = f"{message}: {_STOPS}"
        raise RefusedError(Found(self._at, Severity.ERROR, rule, message, advice))
