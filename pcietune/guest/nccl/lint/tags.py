"""All tags of a topology file: as NCCL reads them, and beyond what it stops at."""

import re
from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.tag import Attribute, RefusedError, Tag, TagKind, TagReader

_BLANK = re.compile(r"[ \n\r]*")
_MARK = "\ufeff"  # which editors put before UTF-8
# What XML calls a tag; a blank must stand before each attribute, or the time is not bounded.
_ANY_TAG = re.compile(
    r"""<(?:\s*(/))?\s*([^\s<>/='"]+)((?:\s+[^\s<>/='"]+\s*=\s*(?:"[^"]*"|'[^']*'))*)"""
    r"""(?:\s*(/))?\s*>"""
)
_ANY_ATTRIBUTE = re.compile(r"""([^\s<>/='"]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_OF_XML = re.compile(r"<[?!][A-Za-z][^>]*(?<!/)>")


def read_tags(text: str, found: list[Found]) -> Iterator[Tag]:
    """Yield the tags of a text, and add what NCCL stops at to ``found``.

    What NCCL stops at is taken for what it means in XML, so that one reading tells all.

    Raises:
        RefusedError: It means nothing there either; it is in ``found``.
    """
    at = 0
    while (at := _next(text, at, found)) < len(text):
        if of_xml := _OF_XML.match(text, at):
            found.append(_declaration(at, of_xml[0]))
            at = of_xml.end()
            continue
        try:
            tag = TagReader(text, at).read()
        except RefusedError as refused:
            found.append(refused.found)
            meant = _meant(text, at)
            if meant is None:
                raise
            tag = meant
        at = tag.end
        if tag.kind is not TagKind.COMMENT:
            yield tag


def _next(text: str, at: int, found: list[Found]) -> int:
    """Return where the next tag begins; the text's end if there is none."""
    blank = _BLANK.match(text, at)
    start = at if blank is None else blank.end()
    if start == len(text) or text[start] == "<":
        return start
    begins = text.find("<", start)
    end = len(text) if begins < 0 else begins
    found.append(_between(start, text[start:end]))
    return end


def _between(offset: int, what: str) -> Found:
    """Return what to say of something that is no tag."""
    rule, subject, advice = "text", f"text between tags, {quoted(what.strip())}", "remove it"
    if what.startswith(_MARK):
        rule, subject, advice = "byte-order-mark", "a byte order mark", "save it without one"
    elif not what.strip():
        rule, subject, advice = "tab", "a tab between tags", "indent by blanks"
    return Found(
        offset,
        Severity.ERROR,
        rule,
        f"{subject}: NCCL stops here, and with it every rank",
        advice,
    )


def _declaration(offset: int, what: str) -> Found:
    return Found(
        offset,
        Severity.ERROR,
        "declaration",
        f"{quoted(what)}: NCCL knows no declarations, and stops here, and with it every rank",
        "remove it: the file begins with <system",
    )


def _meant(text: str, at: int) -> Tag | None:
    """Return the tag that XML would see; None if it is none there either."""
    tag = _ANY_TAG.match(text, at)
    if tag is None:
        return None
    closes, name, written, single = tag.groups()
    attributes = tuple(
        Attribute(each[1], each[2] if each[2] is not None else each[3], tag.start(3) + each.start())
        for each in _ANY_ATTRIBUTE.finditer(written)
    )
    kind = TagKind.CLOSE if closes else TagKind.SINGLE if single else TagKind.OPEN
    return Tag(kind, name, attributes, at, tag.end())
