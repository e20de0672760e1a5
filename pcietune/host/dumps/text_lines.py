"""Lines of text as somebody captured, mailed or pasted it, each with its place."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.errors import BadInputError

_LARGEST = 0x20000000  # bytes; lspci -xxxx of 16,384 functions prints less than half of it
_LONGEST_LINE = 0x4000  # bytes; a kernel command line has 2047, some architectures more
_AT_ONCE = 0x100000  # bytes
_ROWS = re.compile(rb"(?:[0-9a-f]{2,3}: (?:[0-9a-f]{2} ){15}[0-9a-f]{2}\n){2,256}")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # a control sequence of ECMA-48, as colours are
_QUOTE = re.compile(r"(?:> ?)+")
# Byte order mark and zero-width space; non-breaking spaces, as pages and mail programs make them
_AS_ASCII = {0xFEFF: None, 0x200B: None, 0xA0: " ", 0x202F: " "}
_ENTITY = re.compile(r"&(gt|lt|amp|quot|nbsp|#39|#160);")
_MEANT = {"gt": ">", "lt": "<", "amp": "&", "quot": '"', "nbsp": " ", "#39": "'", "#160": " "}
_DETAIL = re.compile(rb"\s+[A-Z][\w ]*:")  # as lspci -v prints below a function
_CUT_OFF = "\N{HORIZONTAL ELLIPSIS}"
_HINT = "capture it anew, as plain text: lspci -D -xxxx > FILE"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands.

    Attributes:
        source: The text's name.
        line: Number of the line, from 1.
    """

    source: str
    line: int

    def refused(self, what: str, *, hint: str = "") -> BadInputError:
        """Return the error that something here cannot be used."""
        return BadInputError(f"{self.source}:{self.line}: {what}", hint=hint)


Line = tuple[int, str]
"""A line's number, from 1, and its text without what ends it.

Rows of bytes that follow each other come as one, with newlines between: there are millions.
"""


def has_offset(line: str) -> bool:
    """Return whether a line begins as a row of bytes does, by an offset of two or three digits."""
    return line[2:4] == ": " or line[3:5] == ": "


def text_lines(stream: io.BufferedReader | gzip.GzipFile, source: str) -> Iterator[Line]:
    """Yield the lines of a text called ``source``.

    Rows of bytes, as lspci prints them, come as one. Carriage returns, colours and a mail's
    quotation marks are taken off, and what HTML made of blanks and of ``<``, ``>`` and ``&`` is
    turned back. What lspci -v tells in a last line without its end may be cut off anywhere: that
    line gets an ellipsis, so that no part of a word or number is taken for the whole.

    Raises:
        BadInputError: It is no text, or larger than any that makes sense.
    """
    read = 0
    for number, raw in _pieces(stream, source):
        read += len(raw)
        if len(raw) > _LONGEST_LINE or read > _LARGEST or b"\0" in raw:
            raise Place(source, number).refused(_what_is_wrong(raw), hint=_HINT)
        line = _clean(raw.decode(errors="replace"))
        if raw.endswith(b"\n"):
            yield number, line
        elif line:  # blanks alone are the beginning of a line, and no empty one
            yield number, line + _CUT_OFF if _DETAIL.match(raw) else line


def _what_is_wrong(raw: bytes) -> str:
    if len(raw) > _LONGEST_LINE:
        return f"a line longer than {_LONGEST_LINE} bytes"
    if b"\0" in raw:
        return "neither a host archive nor text in UTF-8: it has zero bytes"
    return f"more than {_LARGEST} bytes"


def _pieces(stream: io.BufferedReader | gzip.GzipFile, source: str) -> Iterator[tuple[int, bytes]]:
    """Yield lines, each with its number, and rows of bytes as many at once as there are."""
    number = 1
    rest = b""
    while chunk := _read(stream, source, number):
        buffer, at = rest + chunk, 0
        while end := buffer.find(b"\n", at) + 1:
            rows = _ROWS.match(buffer, at)
            end = end if rows is None else rows.end()
            yield number, buffer[at:end]
            number += 1 if rows is None else buffer.count(b"\n", at, end)
            at = end
        rest = buffer[at:]
        if len(rest) > _LONGEST_LINE:
            break
    if rest:
        yield number, rest


def _read(stream: io.BufferedReader | gzip.GzipFile, source: str, number: int) -> bytes:
    try:
        return stream.read1(_AT_ONCE)
    except (OSError, EOFError, zlib.error) as error:
        raise Place(source, number).refused(
            f"what follows cannot be read: {error}", hint=_HINT
        ) from error


def _clean(text: str) -> str:
    if not text.isascii():
        text = text.translate(_AS_ASCII)
    if "&" in text:
        text = _ENTITY.sub(lambda entity: _MEANT[entity[1]], text)
    if text[:1] in {"\x1b", ">"} or "\x1b" in text:
        text = _ESCAPE.sub("", text)
        quoted = _QUOTE.match(text)
        text = text[quoted.end() :] if quoted else text
    return text.rstrip()
