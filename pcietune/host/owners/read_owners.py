"""All who give functions to VFIO or set their registers beside pcietune, live or recorded."""

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.owners.driverctl import read_driverctl
from pcietune.host.owners.libvirt import read_libvirt
from pcietune.host.owners.module_ids import read_module_ids
from pcietune.host.owners.pods import read_operators
from pcietune.host.recordings.manifest import read_manifest
from pcietune.model.owners import Owner, Owners

_READERS = (read_module_ids, read_driverctl, read_libvirt, read_operators)


def owners_of(files: HostFiles) -> Owners | None:
    """Return who else is at work on a host; None if a recording does not tell.

    Raises:
        BadInputError: What a recording tells is broken.
    """
    if files.recorded:
        return read_manifest(files.root, str(files.root)).host_owners(str(files.root))
    return read_owners(files)


def read_owners(files: HostFiles) -> Owners:
    """Return who else is at work on this host, and what of that cannot be found out."""
    found: list[Owner] = []
    not_known: list[str] = []
    for read in _READERS:
        try:
            owners, unread = read(files)
        except NotPermittedError as error:
            owners, unread = [], [f"who else gives functions to VFIO: {error}"]
        found += owners
        not_known += unread
    return Owners(tuple(found), tuple(not_known))
