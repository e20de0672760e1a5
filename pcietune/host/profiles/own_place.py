"""Where a complaint about several values of a profile stands: in its own file, if one does."""

from typing import TypeVar

import msgspec

from pcietune.host.yaml.schema import Document, Path

T = TypeVar("T", bound=msgspec.Struct)


def own_place(document: Document[T], *paths: Path) -> Path:
    """Return the first of ``paths`` that stands in the profile's own file, not in what it extends.

    The first of all if none does.
    """
    file, _, _ = document.places[()]
    own = [p for p in paths if p in document.places and document.places[p][0] == file]
    return own[0] if own else paths[0]


def place_elsewhere(document: Document[T], path: Path) -> str:
    """Return the place of a value as FILE:LINE; "" if it stands in the profile's own file."""
    at = document.complain(path, "")
    return "" if at.file == document.places[()][0] else f"{at.file}:{at.line}"
