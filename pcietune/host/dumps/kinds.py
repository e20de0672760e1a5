"""What kinds of text tell of a host, and the lines by which each is known."""

import re
from enum import Enum

from pcietune.host.dumps.group_listing import is_group_listing
from pcietune.host.dumps.kernel_messages import is_kernel_message
from pcietune.host.dumps.lspci_dump import is_lspci
from pcietune.host.dumps.lspci_tree import is_tree

RELEASE = re.compile(
    r"(?:Linux \S+ (?=\S+ #[0-9]))?([0-9]+\.[0-9]+[\w.+~-]*)(?:(?<=[\w+~-]) #[0-9].*)?", re.ASCII
)
_ARGUMENT = re.compile(
    r"(?:.*\s)?(?:BOOT_IMAGE|root|initrd|console|pci|iommu|intel_iommu|amd_iommu|vfio-pci\.ids)=.*"
)
_SENTENCE = re.compile(r"[,.:;?!](?:\s|$)")  # no argument of a kernel's ends so
_ALONE = frozenset(("ro", "rw", "quiet", "splash", "rhgb", "debug", "nosplash"))
_FIRST_ARGUMENT = "BOOT_IMAGE="  # what GRUB puts first; it is in no sentence of anybody's


class Kind(Enum):
    """A kind of text."""

    DUMP = "a dump"
    TREE = "a tree of lspci -t"
    GROUPS = "a listing of IOMMU groups"
    MESSAGES = "a kernel's log"
    RELEASE = "a kernel release"
    COMMAND_LINE = "a kernel command line"

    @property
    def is_one_line(self) -> bool:
        """Whether such a text is one line, though it may be wrapped."""
        return self in (Kind.RELEASE, Kind.COMMAND_LINE)


def kind_of(line: str) -> Kind | None:
    """Return what a line shows a text to be; None if it shows nothing."""
    kind = plain_kind_of(line)
    if kind is not None:
        return kind
    if RELEASE.fullmatch(line):
        return Kind.RELEASE
    return Kind.COMMAND_LINE if _is_command_line(line) else None


def plain_kind_of(line: str) -> Kind | None:
    """As ``kind_of``, of lines that no sentence of a letter looks like."""
    if is_lspci(line):
        return Kind.DUMP
    if is_group_listing(line):
        return Kind.GROUPS
    if is_kernel_message(line):
        return Kind.MESSAGES
    if is_tree(line):
        return Kind.TREE
    return Kind.COMMAND_LINE if line.startswith(_FIRST_ARGUMENT) else None


def _is_command_line(line: str) -> bool:
    """Return whether a line is made of a kernel's arguments, by most of its words."""
    if _ARGUMENT.fullmatch(line) is None or _SENTENCE.search(line):
        return False
    words = line.split()
    return 2 * sum("=" in word or word in _ALONE for word in words) >= len(words)
