"""A profile's text together with those that it extends."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import yaml

from pcietune.errors import quoted
from pcietune.host.profiles.source import ProfileSource
from pcietune.host.yaml.merge import merged
from pcietune.host.yaml.nearest_name import hint
from pcietune.host.yaml.nodes import (
    Complaint,
    DocumentError,
    compose,
    is_text,
    position,
    read_document,
)

EXTENDS = "extends"
_LONGEST = 8  # files


class Parents(Protocol):
    """Profiles that others may extend."""

    def names(self) -> Sequence[str]:
        """Return what they are called."""

    def parent(self, name: str, chain: Sequence[ProfileSource]) -> ProfileSource | None:
        """Return the profile of that name which the last of ``chain`` extends.

        None if there is none that is not in ``chain`` already.
        """


class _NoParents:
    """For a profile that extends none."""

    def names(self) -> Sequence[str]:
        return ()

    def parent(self, name: str, chain: Sequence[ProfileSource]) -> ProfileSource | None:
        del name, chain
        return None


NO_PARENTS: Parents = _NoParents()


@dataclass(frozen=True, slots=True)
class Chain:
    """A profile and what it extends, as one document.

    Attributes:
        root: The document.
        sha256: Of the files' bytes, one after the other, in hex.
        sources: The profile's file, then those that it extends, nearest first.
    """

    root: yaml.Node
    sha256: str
    sources: tuple[ProfileSource, ...]


def read_chain(data: bytes, source: ProfileSource, parents: Parents) -> Chain:
    """Return the profile in ``data`` over what it extends.

    Args:
        data: What ``source`` holds.
        source: The profile's file.
        parents: What it may extend.

    Raises:
        DocumentError: One of the files is not YAML, or extends what cannot be extended.
        BadInputError: A parent cannot be read.
        NotPermittedError: The kernel keeps a parent from this user.
    """
    digest = hashlib.sha256(data)
    sources = [source]
    roots = [compose(data, source.file)]
    while (extends := _extends(roots[-1])) is not None:
        source = _parent(extends, sources, parents)
        data = read_document(source.file, hint="")
        digest.update(data)
        sources.append(source)
        roots.append(_mapping(compose(data, source.file)))
    root = roots.pop()
    while roots:
        root = merged(roots.pop(), root)
    return Chain(root, digest.hexdigest(), tuple(sources))


def _extends(root: yaml.Node) -> yaml.ScalarNode | None:
    """Return the name that a profile extends; None if there is none, or it can be no name."""
    if not isinstance(root, yaml.MappingNode):
        return None
    values = [value for key, value in root.value if is_text(key) and key.value == EXTENDS]
    value = values[0] if values else None
    if not isinstance(value, yaml.ScalarNode) or not is_text(value):
        return None
    return None if not value.value or set("/\n") & set(value.value) else value


def _parent(
    extends: yaml.ScalarNode, chain: Sequence[ProfileSource], parents: Parents
) -> ProfileSource:
    name = extends.value
    found = parents.parent(name, chain)
    names = [source.name for source in chain]
    if found is not None and len(chain) < _LONGEST:
        return found
    if found is not None:
        said = f"more than {_LONGEST} profiles extend each other"
    elif name in names:
        said = f"profiles extend each other in a circle: {' -> '.join([*names, name])}"
    else:
        said = f"no profile is called {quoted(name)}; {hint(name, parents.names())}"
    raise DocumentError([Complaint(*position(extends), said)])


def _mapping(root: yaml.Node) -> yaml.Node:
    """Return the root of a profile that is extended.

    Raises:
        DocumentError: It is no mapping, so there is nothing to extend.
    """
    if not isinstance(root, yaml.MappingNode):
        raise DocumentError([Complaint(*position(root), "expected a mapping")])
    return root
