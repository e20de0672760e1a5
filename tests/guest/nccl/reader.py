"""A checker of topology files, made after a table of what NCCL's reader takes and refuses.

It goes through a text character by character, state by state, and knows nothing of pcietune.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAY_HOLD = {
    "": {"system"},
    "system": {"cpu"},
    "cpu": {"pci", "nic"},
    "pci": {"pci", "gpu", "nic", "pcilink"},
    "gpu": {"nvlink", "c2c"},
    "nic": {"net"},
    "net": set(),
    "nvlink": set(),
    "c2c": set(),
    "pcilink": set(),
}


class RefusedError(Exception):
    """NCCL would end here with an error."""


@dataclass
class Read:
    """An element as NCCL has it; of an attribute that is given twice the first counts."""

    name: str
    attributes: dict[str, str]
    children: list["Read"] = field(default_factory=list)

    def all(self) -> Iterator["Read"]:
        yield self
        for child in self.children:
            yield from child.all()


def read(text: str, version: str = "1") -> Read:
    """Return the root, or raise RefusedError."""
    if not text.isascii():
        raise RefusedError("not ASCII, which the table is about")
    top = Read("", {})
    stack = [top]
    unknown = 0
    count = 0
    for kind, name, attributes in _tags(text):
        if kind == "close":
            unknown = _close(stack, name, unknown)
        elif unknown or name not in _MAY_HOLD[stack[-1].name]:
            unknown += kind == "open"
        else:
            count += 1
            element = Read(name, attributes)
            stack[-1].children.append(element)
            _check(element, stack[-1], count, version)
            if kind == "open":
                stack.append(element)
    if unknown or len(stack) > 1:
        raise RefusedError("unterminated")
    if len(top.children) != 1:
        raise RefusedError("no root, or two")
    return top.children[0]


def _close(stack: list[Read], name: str, unknown: int) -> int:
    """Close an element; return how many unknown ones are open then."""
    if unknown:
        return unknown - 1
    if len(stack) == 1 and name != "system":
        return 1  # where nothing is open, it is taken for one that opens
    if len(stack) == 1 or stack.pop().name != name:
        raise RefusedError(f"closes {name}")
    return 0


def _check(element: Read, parent: Read, count: int, version: str) -> None:
    if count == 256:
        raise RefusedError("nodes")
    if len(parent.children) > 640:
        raise RefusedError("children")
    given = element.attributes.get("version", "")
    if element.name == "system" and not re.match(rf"\s*\+?(0|0x0*)?{version}(?!\d)", given):
        raise RefusedError("version")


def _tags(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:  # noqa: C901, PLR0912, PLR0915 -- one automaton
    state, name, key, value, quote = "between", "", "", "", ""
    attributes: dict[str, str] = {}
    given = 0
    for at, char in enumerate(text):
        match state:
            case "between":
                if char == "<":
                    state, name, attributes, given = "name", "", {}, 0
                elif char not in " \n\r":
                    raise RefusedError(f"{char!r} at {at}")
            case "name":
                if char == "=":
                    raise RefusedError(f"= at {at}")
                if char not in " >/\n\r":
                    name += char
                elif name.startswith("!--"):
                    state, value = "comment", name[3:] + char
                    if value.endswith("-->"):
                        state = "between"
                elif char == "/" and not name:
                    state = "closing"
                else:
                    state = _after(char, at)
                    if state == "between":
                        yield "open", name, attributes
                if len(name) > 253:
                    raise RefusedError(f"name at {at}")
            case "comment":
                value += char
                if value.endswith("-->"):
                    state = "between"
            case "closing":
                if char == ">":
                    yield "close", name, {}
                    state = "between"
                elif char in " /\n\r=" or len(name) == 253:
                    raise RefusedError(f"closing tag at {at}")
                else:
                    name += char
            case "key":
                if char == "=":
                    state = "quote"
                elif char in " >/\n\r":
                    given += 1
                    if given <= 16:
                        attributes.setdefault(key, "")
                    if len(key) > 253:
                        raise RefusedError(f"key at {at}")
                    key, state = "", _after(char, at)
                    if state == "between":
                        yield "open", name, attributes
                else:
                    key += char
                    if len(key) > 254:
                        raise RefusedError(f"key at {at}")
            case "quote":
                if char not in "\"'":
                    raise RefusedError(f"no quote at {at}")
                state, quote, value = "value", char, ""
            case "value":
                if char != quote:
                    value += char
                    if len(value) > 253:
                        raise RefusedError(f"value at {at}")
                else:
                    given += 1
                    if given <= 16:
                        attributes.setdefault(key, value)
                    state, key = "after", ""
            case "after":
                state = _after(char, at)
                if state == "between":
                    yield "open", name, attributes
            case _:  # behind the / of an element without children
                if char == ">":
                    yield "single", name, attributes
                    state, key = "between", ""
                elif char in " /\n\r=" or len(key) == 253:
                    raise RefusedError(f"{char!r} at {at}")
                else:
                    key += char
    if state != "between":
        raise RefusedError("end of file")


def _after(char: str, at: int) -> str:
    """Return what follows a name or value that this character ends."""
    follows = {" ": "key", ">": "between", "/": "single"}
    if char not in follows:
        raise RefusedError(f"{char!r} at {at}")
    return follows[char]
