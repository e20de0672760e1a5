"""An element of a topology file that was read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pcietune.guest.nccl.lint.tag import Attribute

_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")


@dataclass(eq=False, slots=True)
class Node:
    """An element.

    Attributes:
        name: Of the element.
        attributes: In their order.
        offset: Of its ``<``, in characters from the start of the text.
        parent: The element it is in; None for the root.
        children: The elements in it that NCCL reads, in their order.
    """

    name: str
    attributes: tuple[Attribute, ...]
    offset: int
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)

    def attribute(self, key: str) -> Attribute | None:
        """Return the attribute that NCCL takes, the first of that name; None if there is none."""
        return next((each for each in self.attributes if each.key == key), None)

    def get(self, key: str) -> str | None:
        """Return an attribute's value; None if there is none."""
        attribute = self.attribute(key)
        return None if attribute is None else attribute.value

    def at(self, key: str) -> int:
        """Return where an attribute begins, or else the element."""
        attribute = self.attribute(key)
        return self.offset if attribute is None else attribute.offset

    def below(self, name: str) -> Iterator["Node"]:
        """Yield the elements of a name that are anywhere in it, in the text's order."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.below(name)

    def above(self) -> Iterator["Node"]:
        """Yield the elements that it is in, nearest first."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = parent.parent


def c_integer(text: str) -> int:
    """Return what C's ``strtol(text, NULL, 0)`` makes of a text: 0 of what is no number."""
    found = _INTEGER.match(text)
    if found is None:
        return 0
    sign, hexadecimal, octal, decimal = found.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (octal, 8) if octal else (decimal, 10)
    value = int(digits[:40], base)  # no attribute needs as many
    return -value if sign == "-" else value
