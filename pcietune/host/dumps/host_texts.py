"""One host from several texts: a dump, and what people copy beside it."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.dumps.group_listing import (
    GroupListing,
    begins_in_group_listing,
    read_group_listing,
)
from pcietune.host.dumps.kernel_messages import KernelMessages, read_kernel_messages
from pcietune.host.dumps.kinds import RELEASE, Kind, kind_of, plain_kind_of
from pcietune.host.dumps.lspci_dump import DumpedFunction, begins_in_dump, read_lspci_dump
from pcietune.host.dumps.lspci_tree import TreeFunction, begins_in_tree, read_lspci_tree
from pcietune.host.dumps.pasted import Section, sections
from pcietune.host.dumps.text_lines import Line, Place
from pcietune.host.dumps.topology import virtual_functions
from pcietune.host.dumps.tree_places import add_functions
from pcietune.host.dumps.unusable import why_unusable
from pcietune.host.dumps.wrapped_lines import unwrapped

_IDS_SIZE = 4  # bytes of Vendor and Device ID
_IDS_OF_A_VF = b"\xff" * _IDS_SIZE
_LINES_BEFORE = 1000  # a log's, before the first line that tells what it is
_LINES_OF_NO_KIND = 50_000  # after so many no host is looked for any more

ACCEPTED = (
    "--from takes: an archive or directory of pcietune record, lspci -D -xxxx or -nnvvv, "
    "lspci -tvnn, find /sys/kernel/iommu_groups -type l, /proc/cmdline, dmesg, uname -r"
)


class HostTexts:
    """What several texts say of one host, held together and against each other.

    Attributes:
        functions: By address, in the order of addresses once all is read.
        tree: Where functions stand, as ``lspci -t`` draws it.
        listing: IOMMU groups.
        release: Of the kernel; None if not told.
        cmdline: The kernel's; None if not told.
    """

    def __init__(self) -> None:
        self.functions: dict[PciAddress, DumpedFunction] = {}
        self.tree: dict[PciAddress, TreeFunction] = {}
        self.listing = GroupListing()
        self.release: str | None = None
        self.cmdline: str | None = None
        self._logs: list[KernelMessages] = []

    def read(self, lines: Iterator[Line], source: str) -> None:
        """Take what a text called ``source`` says, whatever kinds of text it is made of.

        What is of no kind is left out where something else is of one.

        Raises:
            BadInputError: It is of no kind that is known, is damaged, or contradicts another.
        """
        left_out: list[Line] = []
        taken = False

        def hopeful() -> Iterator[Line]:
            for count, line in enumerate(lines):
                if count == _LINES_OF_NO_KIND and not taken:
                    return
                yield line

        for section in sections(hopeful()):
            before, kind = _begin(section)
            if kind is not None:
                taken = True
                place = Place(source, before[-1][0])
                self._read(kind, chain(before, section.lines), place, before[-1][1])
            elif len(left_out) < _LINES_BEFORE:
                left_out += before
        if taken:
            return
        if not any(text for _, text in left_out):
            raise BadInputError(f"{source} is empty", hint=ACCEPTED)
        raise why_unusable(left_out, source) or Place(source, 1).refused(
            "this is neither an archive nor a text that tells of a host", hint=ACCEPTED
        )

    def check(self) -> None:
        """Do nothing if there is a host, and all texts can be of it.

        Raises:
            BadInputError: There is no function, one has no bytes, or the IOMMU groups are
                another host's.
        """
        add_functions(self.functions, self.tree)
        without = next((f for f in self.functions.values() if not f.data), None)
        if without is not None:
            raise without.place.refused(
                f"{without.address} has no bytes here, nor bus numbers and kinds of port, as -vvv "
                "prints them: where it stands is not told",
                hint="print the whole, and not a part that grep finds: lspci -D -nnvvv, or "
                "lspci -D -xxxx, as root",
            )
        if not self.functions:
            raise BadInputError(
                "no dump of a host among what --from names",
                hint="add a dump of the host: --from FILE, of lspci -D -xxxx as root",
            )
        for virtual in virtual_functions(self.functions).values():
            for vf in virtual:  # whose IDs read as ones, though lspci prints others
                self.functions[vf].data[:_IDS_SIZE] = _IDS_OF_A_VF
        self.take_groups_of_logs(self.functions)
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

    def take_groups_of_logs(self, functions: Container[PciAddress]) -> None:
        """Add the IOMMU groups that kernel logs tell of ``functions``; others may be gone since.

        Raises:
            BadInputError: A log tells of other functions alone, or contradicts a listing.
        """
        for log in self._logs:
            known = [address for address in log.groups if address in functions]
            if log.groups and not known:
                first = next(iter(log.groups))
                raise log.places[first].refused(
                    f"{first} is in no dump, and nor is any other function that this log tells of",
                    hint="they are of different hosts: leave one out",
                )
            for address in known:
                self.listing.add(log.groups[address], str(address), log.places[address])

    def _read(self, kind: Kind, lines: Iterable[Line], place: Place, text: str) -> None:
        source = place.source
        match kind:
            case Kind.DUMP:
                for function in read_lspci_dump(unwrapped(lines, begins_in_dump), source):
                    self._add(function)
            case Kind.TREE:
                self._add_tree(read_lspci_tree(unwrapped(lines, begins_in_tree), source))
            case Kind.GROUPS:
                read_group_listing(unwrapped(lines, begins_in_group_listing), source, self.listing)
            case Kind.MESSAGES:
                self._add_messages(read_kernel_messages(lines, source), place)
            case Kind.RELEASE:
                found = RELEASE.fullmatch(text)
                self._set_release(text if found is None else found[1], place)
            case Kind.COMMAND_LINE:
                self._set_cmdline(" ".join(line for _, line in lines if line), place)

    def _set_release(self, release: str, place: Place) -> None:
        self.release = _same(self.release, release, "kernel releases", place)

    def _set_cmdline(self, cmdline: str, place: Place) -> None:
        self.cmdline = _same(self.cmdline, cmdline, "kernel command lines", place)

    def _add_messages(self, messages: KernelMessages, place: Place) -> None:
        if messages.release is not None:
            self._set_release(messages.release, place)
        if messages.cmdline is not None:
            self._set_cmdline(messages.cmdline, place)
        self._logs.append(messages)

    def _add_tree(self, tree: dict[PciAddress, TreeFunction]) -> None:
        for address, drawn in tree.items():
            known = self.tree.setdefault(address, drawn)
            if known.above != drawn.above:
                raise drawn.place.refused(
                    f"{address} stands elsewhere in {known.place.source}:{known.place.line}",
                    hint="the trees are of different hosts, or boots: leave one out",
                )

    def _add(self, function: DumpedFunction) -> None:
        """Take one function: its bytes from one text, and what -v tells from any."""
        known = self.functions.setdefault(function.address, function)
        if known is not function:
            if known.data and function.data:
                raise function.place.refused(
                    f"{function.address} is in {known.place.source}:{known.place.line}, too",
                    hint="each function's bytes must come from one dump",
                )
            if not known.data:
                known.data, known.unread = function.data, function.unread
            known.printed = known.printed or function.printed
            known.driver = known.driver or function.driver
            known.numa_node = known.numa_node if function.numa_node is None else function.numa_node
        if function.group is not None:
            self.listing.add(function.group, str(function.address), function.place)


def _begin(section: Section) -> tuple[Sequence[Line], Kind | None]:
    """Return the lines up to the first that shows of what kind a section is, and that kind.

    Without one, all lines that were looked at, and None.
    """
    before: list[Line] = []
    told = False
    for line in section.lines:
        before.append(line)
        if line[1]:
            kind = section.kind or (plain_kind_of(line[1]) if told else kind_of(line[1]))
            told = True
            if kind is not None:
                return before, kind
        if len(before) == _LINES_BEFORE:
            break
    return before, None


def _same(known: str | None, told: str, what: str, place: Place) -> str:
    """Return what is told, unless something else was told before."""
    if known not in (None, told):
        raise place.refused(
            f"two {what}: {told[:60]!r} here, {known!r} elsewhere",
            hint="they are of different hosts, or boots: leave one out",
        )
    return told
