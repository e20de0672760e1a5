"""One host from several texts: a dump, and what people copy beside it."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.dumps.group_listing import GroupListing, is_group_listing, read_group_listing
from pcietune.host.dumps.lspci_dump import DumpedFunction, is_lspci, read_lspci_dump
from pcietune.host.dumps.text_lines import Line, Place

_RELEASE = re.compile(r"(?:Linux (?:version |\S+ ))?([0-9]+\.[0-9]+[\w.+~-]*)(?: .*)?", re.ASCII)
_COMMAND_LINE = re.compile(
    r"(?:.*\s)?(?:BOOT_IMAGE|root|initrd|console|pci|iommu|intel_iommu|amd_iommu|vfio-pci\.ids)=.*"
)
_LINES_BEFORE = 1000  # a log's, before the first line that tells what it is

ACCEPTED = (
    "--from takes: an archive or directory of pcietune record, lspci -D -xxxx, /proc/cmdline, "
    "find /sys/kernel/iommu_groups -type l, uname -r"
)


class _Kind(Enum):
    DUMP = "a dump"
    GROUPS = "a listing of IOMMU groups"
    RELEASE = "a kernel release"
    COMMAND_LINE = "a kernel command line"


class HostTexts:
    """What several texts say of one host, held together and against each other.

    Attributes:
        functions: By address, in the order of addresses once all is read.
        listing: IOMMU groups.
        release: Of the kernel; None if not told.
        cmdline: The kernel's; None if not told.
    """

    def __init__(self) -> None:
        self.functions: dict[PciAddress, DumpedFunction] = {}
        self.listing = GroupListing()
        self.release: str | None = None
        self.cmdline: str | None = None

    def read(self, lines: Iterator[Line], source: str) -> None:
        """Take what a text called ``source`` says, whatever kind of text that is.

        Raises:
            BadInputError: It is of no kind that is known, is damaged, or contradicts another.
        """
        before: list[Line] = []
        for line in lines:
            before.append(line)
            kind = _kind(line[1])
            if kind is not None:
                self._read(kind, chain(before, lines), Place(source, line[0]), line[1])
                return
            if len(before) == _LINES_BEFORE:
                break
        if not any(text for _, text in before):
            raise BadInputError(f"{source} is empty", hint=ACCEPTED)
        raise Place(source, 1).refused(
            "this is neither an archive nor a text that tells of a host", hint=ACCEPTED
        )

    def check(self) -> None:
        """Do nothing if there is a host, and all texts can be of it.

        Raises:
            BadInputError: There is no function, one has no bytes, or the IOMMU groups are
                another host's.
        """
        without = next((f for f in self.functions.values() if not f.data), None)
        if without is not None:
            raise without.place.refused(
                f"{without.address} has no bytes here", hint="dump them: lspci -D -xxxx, as root"
            )
        if not self.functions:
            raise BadInputError(
                "no dump of a host among what --from names",
                hint="add a dump of the host: --from FILE, of lspci -D -xxxx as root",
            )
        listed = self.listing.groups
        unlisted = [address for address in self.functions if address not in listed]
        unseen = [address for address in listed if address not in self.functions]
        if unlisted and unseen:
            raise self.listing.places[unseen[0]].refused(
                f"{unseen[0]} is in no dump, and {unlisted[0]} in no listing of IOMMU groups: "
                "they are of different hosts",
                hint="dump and list in the same boot",
            )
        self.functions = dict(sorted(self.functions.items()))

    def _read(self, kind: _Kind, lines: Iterable[Line], place: Place, text: str) -> None:
        match kind:
            case _Kind.DUMP:
                for function in read_lspci_dump(lines, place.source):
                    self._add(function)
            case _Kind.GROUPS:
                read_group_listing(lines, place.source, self.listing)
            case _Kind.RELEASE:
                found = _RELEASE.fullmatch(text)
                release = text if found is None else found[1]
                self.release = _same(self.release, release, "kernel releases", place)
            case _Kind.COMMAND_LINE:
                self.cmdline = _same(self.cmdline, text, "kernel command lines", place)

    def _add(self, function: DumpedFunction) -> None:
        """Take one function: its bytes from one text, and what -v tells from any."""
        known = self.functions.setdefault(function.address, function)
        if known is not function:
            if known.data and function.data:
                raise function.place.refused(
                    f"{function.address} is in {known.place.source}:{known.place.line}, too",
                    hint="each function's bytes must come from one dump",
                )
            known.data = known.data or function.data
            known.printed = known.printed or function.printed
            known.driver = known.driver or function.driver
            known.numa_node = known.numa_node if function.numa_node is None else function.numa_node
        if function.group is not None:
            self.listing.add(function.group, str(function.address), function.place)


def _kind(line: str) -> _Kind | None:
    """Return what a line shows a text to be; None if it shows nothing."""
    if is_lspci(line):
        return _Kind.DUMP
    if is_group_listing(line):
        return _Kind.GROUPS
    if _RELEASE.fullmatch(line):
        return _Kind.RELEASE
    return _Kind.COMMAND_LINE if _COMMAND_LINE.fullmatch(line) else None


def _same(known: str | None, told: str, what: str, place: Place) -> str:
    """Return what is told, unless something else was told before."""
    if known not in (None, told):
        raise place.refused(
            f"two {what}: {told[:60]!r} here, {known!r} elsewhere",
            hint="they are of different hosts, or boots: leave one out",
        )
    return told
