"""The tree that NCCL makes of a topology file's tags.

Source: NCCL 2.30, xmlLoadSub in src/graph/xml.cc.
"""

from pcietune.errors import quoted
from pcietune.guest.nccl.dialect import (
    ATTRIBUTES,
    MOST_ELEMENTS,
    VERSIONS,
    Library,
    children_of,
)
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.node import Node, c_integer
from pcietune.guest.nccl.lint.tag import RefusedError, Tag, TagKind
from pcietune.guest.nccl.lint.tags import read_tags

_STOPS = "NCCL stops here, and with it every rank"


def read_tree(text: str, library: Library, found: list[Found]) -> Node | None:
    """Return the root of a file; None if there is none, or not all of it could be read.

    What is wrong is added to ``found``.
    """
    reader = _Reader(library, found)
    try:
        whole = all(reader.take(tag) for tag in read_tags(text, found))
    except RefusedError:  # which is told already
        return None
    return reader.root if whole and reader.end(len(text)) else None


class _Reader:
    """Puts tags together.

    Attributes:
        root: The file's ``system``; None until there is one.
    """

    def __init__(self, library: Library, found: list[Found]) -> None:
        self.root: Node | None = None
        self._library = library
        self._found = found
        self._open: list[Node] = []
        self._skipped: list[Tag] = []  # what NCCL does not know, and is open
        self._count = 0

    def take(self, tag: Tag) -> bool:
        """Take the next tag, and return whether NCCL, or one that forgave it, could go on."""
        if tag.kind is TagKind.CLOSE:
            return self._close(tag)
        if self._skipped:
            if tag.kind is TagKind.OPEN:
                self._skipped.append(tag)
            return True
        parent = self._open[-1] if self._open else None
        if tag.name not in children_of(parent.name if parent else "", self._library):
            self._unknown(tag, parent)
            return True
        node = Node(tag.name, tag.attributes, tag.offset, parent)
        self._count += 1
        if self._count > MOST_ELEMENTS:
            return self._stop(tag.offset, "too-many", f"more than {MOST_ELEMENTS} elements")
        if parent is None:
            self._begin(node)
        else:
            parent.children.append(node)
        if tag.kind is TagKind.OPEN:
            self._open.append(node)
        return True

    def end(self, offset: int) -> bool:
        """Take the end of the text, at that offset, and return whether all was closed."""
        if self._open or self._skipped:
            name = self._skipped[0].name if self._skipped else self._open[-1].name
            said = f"the file ends, and {quoted(name)} is not closed"
            return self._stop(offset, "not-closed", said)
        if self.root is None:
            self._add(
                0,
                Severity.ERROR,
                "no-system",
                "there is no system element: NCCL goes on as if there were no file",
                f'write <system version="{VERSIONS[self._library]}"> around all',
            )
        return True

    def _close(self, tag: Tag) -> bool:
        if self._skipped:
            self._skipped.pop()  # by depth: NCCL does not compare their names
            return True
        if not self._open:
            self._add(
                tag.offset,
                Severity.ERROR,
                "not-opened",
                f"{quoted(tag.name)} was not opened: NCCL stops, or leaves out what follows",
                "remove it, or open it before",
            )
            return False
        node = self._open.pop()
        if node.name != tag.name:
            said = f"{quoted(tag.name)} is closed where {quoted(node.name)} is open"
            return self._stop(tag.offset, "mismatch", said)
        return True

    def _unknown(self, tag: Tag, parent: Node | None) -> None:
        """Tell of an element that NCCL leaves out, with all that is in it."""
        place = f"in a {parent.name}" if parent else "at the top"
        belong = children_of(parent.name if parent else "", self._library)
        known = tag.name in ATTRIBUTES
        self._add(
            tag.offset,
            Severity.ERROR if known else Severity.WARNING,
            "misplaced" if known else "unknown-element",
            f"{quoted(tag.name)} {place}: NCCL leaves it out, with all that is in it",
            f"there belongs {' or '.join(belong)}" if belong else "remove it",
        )
        if tag.kind is TagKind.OPEN:
            self._skipped.append(tag)

    def _begin(self, node: Node) -> None:
        wanted = VERSIONS[self._library]
        version = node.get("version")
        if version is None or c_integer(version) != wanted:
            said = "no version" if version is None else f"version {quoted(version)}"
            other = next(each for each in VERSIONS if each is not self._library)
            self._add(
                node.at("version"),
                Severity.ERROR,
                "version",
                f"{said}: {self._library.upper()} reads {wanted} only, and refuses this file;"
                f" {other.upper()}'s have {VERSIONS[other]}",
                f'write version="{wanted}"',
            )
        if self.root is not None:
            self._add(
                node.offset,
                Severity.ERROR,
                "second-system",
                "a second system element: NCCL uses the first alone",
                "put all into one",
            )
            return
        self.root = node

    def _stop(self, offset: int, rule: str, message: str) -> bool:
        advice = "mend it here, or before"
        self._add(offset, Severity.ERROR, rule, f"{message}: {_STOPS}", advice)
        return False

    def _add(self, offset: int, severity: Severity, rule: str, message: str, advice: str) -> None:
        self._found.append(Found(offset, severity, rule, message, advice))
