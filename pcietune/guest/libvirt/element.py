"""XML elements and their text, written as libvirt itself prints a domain."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.errors import BadInputError, quoted

# What no XML 1.0 document can hold, not even as a character reference: XML 1.0, section 2.2.
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&apos;", "\t": "&#9;", "\n": "&#10;"}
_ESCAPES["\r"] = "&#13;"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, on lines of its own.

    Attributes:
        text: Its text.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element.

    Attributes:
        name: With its prefix, as ``qemu:override``.
        attributes: In the order in which they are printed.
        content: Its text, or what is in it, in order.
    """

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    content: str | tuple["Element | Comment", ...] = ()

    def with_content(self, *content: "Element | Comment | None") -> "Element":
        """Return it with elements in it; what is None is left out."""
        return Element(self.name, self.attributes, tuple(each for each in content if each))

    def with_text(self, text: str | int) -> "Element":
        """Return it with a text in it."""
        return Element(self.name, self.attributes, str(text))

    def child(self, name: str) -> "Element | None":
        """Return the first element of a name in it; None if there is none."""
        return next(
            (each for each in self.content if isinstance(each, Element) and each.name == name), None
        )


def element(name: str, /, **attributes: str | int | None) -> Element:
    """Return an element without content; an attribute that is None is left out."""
    given = tuple((key, str(value)) for key, value in attributes.items() if value is not None)
    return Element(name, given)


def xml_lines(item: Element | Comment, depth: int = 0) -> Iterator[str]:
    """Yield an element's lines, two blanks for each level.

    Raises:
        BadInputError: A text holds a character that XML cannot.
    """
    indent = "  " * depth
    if isinstance(item, Comment):
        shown = "".join(each if each.isprintable() else "?" for each in item.text)  # DMI's, too
        # No comment holds two of them: XML 1.0, section 2.5.
        yield f"{indent}<!-- {re.sub('-(?=-)', '- ', shown)} -->"
        return
    attributes = "".join(f" {key}='{escaped(value)}'" for key, value in item.attributes)
    start = f"{indent}<{item.name}{attributes}"
    if not item.content:
        yield f"{start}/>"
    elif isinstance(item.content, str):
        yield f"{start}>{escaped(item.content)}</{item.name}>"
    else:
        yield f"{start}>"
        for each in item.content:
            yield from xml_lines(each, depth + 1)
        yield f"{indent}</{item.name}>"


def escaped(text: str) -> str:
    """Return a text as it stands in XML, in an attribute or between tags.

    Raises:
        BadInputError: It holds a character that XML cannot.
    """
    return "".join(_ESCAPES.get(each, each) for each in _speakable(text))


def _speakable(text: str) -> str:
    if _UNSPEAKABLE.search(text):
        raise BadInputError(
            f"{quoted(text)}: holds a character that XML cannot", hint="give the VM another name"
        )
    return text
