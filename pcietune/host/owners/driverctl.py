"""Overrides that driverctl keeps and makes again at every boot."""

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.owners import Owner, OwnerKind

OVERRIDES = "etc/driverctl.d"

_BUS = "pci-"


def read_driverctl(files: HostFiles) -> tuple[list[Owner], list[str]]:
    """Return a driver for each function that driverctl has one for, and what is not known of it.

    A file is named after bus and address, and holds the driver's name.
    """
    try:
        names = files.names(OVERRIDES)
    except NotPermittedError as error:
        return [], [f"which functions driverctl binds: {error}"]
    found, not_known = [], []
    for name in names:
        if not name.startswith(_BUS):
            continue
        driver = files.text(f"{OVERRIDES}/{name}")
        try:
            address = PciAddress.parse(name.removeprefix(_BUS))
        except BadInputError:
            continue
        if driver is None:
            not_known.append(f"which driver driverctl has for {address}: it is not readable")
            continue
        where = f"/{OVERRIDES}/{name}"
        found.append(Owner(OwnerKind.DRIVERCTL, where, addresses=(address,), says=driver))
    return found, not_known
