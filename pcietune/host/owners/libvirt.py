"""Functions that libvirt takes from their drivers when a VM starts: ``managed='yes'``."""

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.host.domain_xml import managed_functions
from pcietune.host.host_files import HostFiles
from pcietune.model.owners import Owner, OwnerKind

DOMAINS = ("etc/libvirt/qemu", "run/libvirt/qemu")
"""Where libvirt keeps VMs that it knows, and those that run."""


def read_libvirt(files: HostFiles) -> tuple[list[Owner], list[str]]:
    """Return which functions libvirt manages, and what of that cannot be found out.

    No VM is named.
    """
    found: dict[str, set[PciAddress]] = {}
    not_known = []
    for directory in DOMAINS:
        try:
            names = [name for name in files.names(directory) if name.endswith(".xml")]
        except NotPermittedError as error:
            not_known.append(f"which functions libvirt manages: {error}")
            continue
        unread = 0
        for name in names:
            addresses = _managed(files, f"{directory}/{name}")
            unread += addresses is None
            found.setdefault(f"/{directory}", set()).update(addresses or ())
        if unread:
            not_known.append(
                f"which functions libvirt manages: {unread} of the files in /{directory} make no "
                "sense, or are not readable"
            )
    owners = [
        Owner(OwnerKind.LIBVIRT_MANAGED, where, addresses=tuple(sorted(addresses)))
        for where, addresses in found.items()
        if addresses
    ]
    return owners, not_known


def _managed(files: HostFiles, path: str) -> set[PciAddress] | None:
    """Return the functions that a file has managed; None if it tells nothing that makes sense."""
    try:
        return managed_functions(files.read(path))
    except (OSError, ValueError):
        return None
