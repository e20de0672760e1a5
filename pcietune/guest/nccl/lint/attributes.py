"""Attributes of a topology file that NCCL does not read as they seem to be meant."""

import re
from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.dialect import ATTRIBUTES, MOST_ATTRIBUTES
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.node import Node

_ENTITY = re.compile(r"&#?\w+;", re.ASCII)


def in_attributes(system: Node) -> Iterator[Found]:
    """Yield what is wrong with attributes, whatever their values."""
    empty = 0
    for node in (system, *(each for name in ATTRIBUTES for each in system.below(name))):
        keys: set[str] = set()
        for attribute in node.attributes:
            key = attribute.key
            if not key:
                empty += 1
                if empty == 1:
                    yield _empty(attribute.offset)
            elif key in keys:
                yield Found(
                    attribute.offset,
                    Severity.WARNING,
                    "attribute-twice",
                    f"{quoted(key)} a second time: NCCL takes the first",
                    "remove the one that is not meant",
                )
            elif key not in ATTRIBUTES[node.name]:
                yield Found(
                    attribute.offset,
                    Severity.WARNING if key.strip() in ATTRIBUTES[node.name] else Severity.NOTE,
                    "attribute",
                    f"{quoted(key)} of a {node.name}: NCCL does not read it",
                    f"one of {', '.join(sorted(ATTRIBUTES[node.name]))}, or nothing"
                    if ATTRIBUTES[node.name]
                    else "remove it",
                )
            keys.add(key)
            if entity := _ENTITY.search(attribute.value):
                yield Found(
                    attribute.offset,
                    Severity.WARNING,
                    "entity",
                    f"{quoted(entity[0])} in {quoted(key)}: NCCL knows no entities, and takes it as"
                    " it stands",
                    'write the character itself; between " and " may be a \', and the other way'
                    " round",
                )
        if len(node.attributes) > MOST_ATTRIBUTES:
            yield Found(
                node.attributes[MOST_ATTRIBUTES].offset,
                Severity.ERROR,
                "attributes",
                f"more than {MOST_ATTRIBUTES} attributes, blanks too many included: NCCL ignores"
                " what is beyond",
                "write fewer, with one blank before each and none before > or />",
            )


def _empty(offset: int) -> Found:
    """Return what to say of the first blank too many; there are as many as elements often."""
    return Found(
        offset,
        Severity.WARNING,
        "empty-attribute",
        "a blank too many: NCCL makes an empty attribute of it, and does not know the element of"
        " another rank's file, without it, for the same",
        'write one blank before each attribute, and none before > or />: busid="..."/>',
    )
