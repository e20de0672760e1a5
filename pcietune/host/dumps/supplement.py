"""Adds to a recording what texts of the same host tell beside it."""

import struct
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.dumps.group_listing import GroupListing
from pcietune.host.dumps.host_texts import HostTexts
from pcietune.host.dumps.lspci_dump import DumpedFunction
from pcietune.host.dumps.lspci_tree import TreeFunction
from pcietune.host.dumps.tree import what_lacks, write_groups
from pcietune.host.function_state import read_state
from pcietune.host.functions import list_functions
from pcietune.host.host_files import HostFiles
from pcietune.host.iommu import GROUPS
from pcietune.host.platform import CMDLINE, OSRELEASE
from pcietune.host.recordings.kernel_command_line import without_private_values
from pcietune.host.recordings.manifest import MANIFEST, read_manifest
from pcietune.host.recordings.new_tree import NewTree, room_for
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN

_ANOTHER = "they are of different hosts, or boots: leave one out"
_NO_ID = 0xFFFF  # of a VF, and of what does not answer


def supplement(root: Path, texts: HostTexts, name: str) -> None:
    """Write into the recording at ``root`` what it lacks and the texts tell.

    What it has stays, and must agree with the texts as far as it tells one host from another:
    registers change from one moment to the next.

    Args:
        root: The recording, in a directory of its own.
        texts: What is to be added.
        name: The recording's name for messages.

    Raises:
        BadInputError: The recording and the texts contradict each other.
        NotPermittedError: There is no room.
    """
    manifest = read_manifest(root, name)
    files = HostFiles(root, recorded=True, complete=manifest.complete)
    listed = list_functions(files)
    functions = {function.address: function for function in listed.functions}
    for dumped in texts.functions.values():
        _check_same(dumped, functions.get(dumped.address), name)
    for drawn in texts.tree.values():
        _check_place(drawn, functions.get(drawn.address), name)
    texts.take_groups_of_logs(functions)
    tree = NewTree(root)
    unread = dict(manifest.unread)
    with room_for(root):
        for address, dumped in texts.functions.items():
            if dumped.data and unread.pop(str(address), None) is not None:
                config = f"{listed.paths[address]}/config"
                files.path(config)  # refuses one that leads out of the recording
                tree.put(config, bytes(dumped.data))
                lacking = what_lacks(dumped)
                if lacking is not None:
                    unread[str(address)] = lacking
        write_groups(tree, _new_groups(files, texts.listing, listed.paths, name), listed.paths)
        for path, text in ((OSRELEASE, texts.release), (CMDLINE, texts.cmdline)):
            if text is not None and _is_new(files, path, text, name):
                tree.put(path, text)
        tree.put(MANIFEST, replace(manifest, unread=unread).encode().decode())


def _check_same(dumped: DumpedFunction, function: PciFunction | None, name: str) -> None:
    vendor, device = struct.unpack_from("<HH", dumped.data or bytes((0xFF,) * 4))
    if function is None:
        raise dumped.place.refused(f"{dumped.address} is not in {name}", hint=_ANOTHER)
    if vendor != _NO_ID and (vendor, device) != (function.vendor, function.device):
        raise dumped.place.refused(
            f"{dumped.address} is {vendor:04x}:{device:04x} here, and {function.id} in {name}",
            hint=_ANOTHER,
        )


def _check_place(drawn: TreeFunction, function: PciFunction | None, name: str) -> None:
    if function is None:
        raise drawn.place.refused(f"{drawn.address} is not in {name}", hint=_ANOTHER)
    if function.ports != drawn.above:
        raise drawn.place.refused(
            f"{drawn.address} stands below other bridges in {name}", hint=_ANOTHER
        )


def _new_groups(
    files: HostFiles, listing: GroupListing, paths: Mapping[PciAddress, str], name: str
) -> GroupListing:
    """Return the part of a listing that the recording does not know."""
    types = {n: text for n, text in listing.types.items() if not files.exists(f"{GROUPS}/{n}/type")}
    new = GroupListing(types=types)
    for address, number in listing.groups.items():
        place = listing.places[address]
        if address not in paths:
            raise place.refused(f"{address} is not in {name}", hint=_ANOTHER)
        known = read_state(files, paths[address], address).group
        if known is NOT_KNOWN:
            files.path(f"{GROUPS}/{number}/devices/{address}")  # as above
            new.add(number, str(address), place)
        elif known != number:
            recorded = "in none" if known is None else f"in group {known}"
            raise place.refused(
                f"{address} is in group {number} here, and {recorded} in {name}", hint=_ANOTHER
            )
    return new


def _is_new(files: HostFiles, path: str, text: str, name: str) -> bool:
    """Return whether the recording lacks a file; a command line in it has no private values."""
    known = files.text(path)
    if known is not None and without_private_values(known) != without_private_values(text):
        raise BadInputError(f"{name} has another /{path}: {known[:60]!r}", hint=_ANOTHER)
    return known is None
