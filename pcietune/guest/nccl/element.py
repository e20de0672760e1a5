"""An element of a topology file that is to be written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Element:
    """An element, with what is in it.

    Attributes:
        name: Of the element.
        attributes: Names and values, in the order in which they are written.
        children: The elements below it, in order.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple["Element", ...] = ()
