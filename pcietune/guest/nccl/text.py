"""A topology file's text, in the dialect that NCCL's reader takes.

That means: no declaration, no tab, the attributes of an element on one line with one blank before
each, ``/>`` without a blank, and nothing that would have to be escaped, since nothing is unescaped.
"""

import re
from collections.abc import Iterator

from pcietune.errors import BadInputError, quoted
from pcietune.guest.nccl.dialect import (
    LONGEST_VALUE,
    MOST_ATTRIBUTES,
    MOST_ELEMENTS,
)
from pcietune.guest.nccl.element import Element

_FEWER = "plan fewer functions, or leave it to NCCL to find them"
_PLAIN = re.compile(r"[ !#%'-;=?-~]*")  # printable ASCII but "$&<>, of which none belongs there


def topology_text(root: Element) -> str:
    """Return the text of a topology file; it ends with a line break.

    Raises:
        BadInputError: NCCL would not read it: it is too large, or a value is.
    """
    elements = _count(root)
    if elements > MOST_ELEMENTS:
        raise BadInputError(
            f"the topology file would have {elements} elements, and NCCL reads {MOST_ELEMENTS}",
            hint=_FEWER,
        )
    return "".join(f"{line}\n" for line in _lines(root, ""))


def _lines(element: Element, indent: str) -> Iterator[str]:
    _check(element)
    opened = " ".join([element.name, *(f'{name}="{text}"' for name, text in element.attributes)])
    if not element.children:
        yield f"{indent}<{opened}/>"
        return
    yield f"{indent}<{opened}>"
    for child in element.children:
        yield from _lines(child, f"{indent}  ")
    yield f"{indent}</{element.name}>"


def _check(element: Element) -> None:
    if len(element.attributes) > MOST_ATTRIBUTES:
        raise ValueError(f"{element.name}: {len(element.attributes)} attributes")
    for name, text in element.attributes:
        if len(text) > LONGEST_VALUE:
            raise BadInputError(
                f"{name} of a {element.name}: {len(text)} characters, and NCCL reads"
                f" {LONGEST_VALUE}",
                hint=_FEWER,
            )
        if not _PLAIN.fullmatch(text):
            raise BadInputError(
                f"{name} of a {element.name}: {quoted(text)} is no plain text",
                hint="mend it in the plan, or make the plan again",
            )


def _count(element: Element) -> int:
    return 1 + sum(map(_count, element.children))
