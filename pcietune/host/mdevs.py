"""Mediated devices: parts of a function that its driver gives to VMs."""

from collections.abc import Mapping
from contextlib import suppress

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles

_DEVICES = "sys/bus/mdev/devices"


def read_mdevs(files: HostFiles) -> Mapping[PciAddress, list[str]]:
    """Return the mediated devices of each function that has some; a recording keeps none.

    Each is a directory in that of its function (drivers/vfio/mdev/mdev_core.c).

    Raises:
        NotPermittedError: This user may not look there.
    """
    found: dict[PciAddress, list[str]] = {}
    for name in files.names(_DEVICES):
        target = files.link(f"{_DEVICES}/{name}") or ""
        parent = target.rpartition("/")[0].rpartition("/")[2]
        with suppress(BadInputError):
            found.setdefault(PciAddress.parse(parent), []).append(name)
    return found
