"""Where a function is, as sysfs shows it: an event's own words are believed only as a name."""

import os

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.hook.kernel import read_line
from pcietune.model.location import location

_PCI_BRIDGE = "0x0604"


class Place:
    """A function that is there.

    Attributes:
        address: The function's.
        directory: Its directory below ``/sys/devices``.
        ports: The directories of the bridges above it, root port first.
        location: Where it is, as the kernel's ``pci=`` options take it.
    """

    __slots__ = ("address", "directory", "location", "ports")

    def __init__(
        self, address: PciAddress, directory: str, location: str, ports: tuple[str, ...]
    ) -> None:
        self.address = address
        self.directory = directory
        self.location = location
        self.ports = ports

    @property
    def id(self) -> str | None:
        """Vendor and Device ID, ``10de:20f3``; None if it vanished."""
        vendor, device = self.text("vendor"), self.text("device")
        return None if vendor is None or device is None else f"{vendor[2:]}:{device[2:]}"

    def driver(self) -> str | None:
        """Return the name of the driver that is bound now; None if there is none."""
        return _link_name(f"{self.directory}/driver")

    @property
    def physical_function(self) -> str | None:
        """The address of a VF's physical function; None of all others."""
        return _link_name(f"{self.directory}/physfn")

    @property
    def given_to_vfio(self) -> bool:
        """Whether a VFIO driver has it: by what it makes below it, or before 6.1 by its name."""
        if os.path.isdir(f"{self.directory}/vfio-dev"):
            return True
        return (self.driver() or "").replace("_", "-").endswith("vfio-pci")

    @property
    def in_use_by_vfio(self) -> bool:
        """Whether a VM or another VFIO user holds it open; what is not known counts as use."""
        return self.given_to_vfio and self.text("enable") != "0"

    @property
    def is_bridge(self) -> bool:
        """Whether it is a bridge between PCI buses, as every port is; if not known, it is none."""
        return (self.text("class") or "").startswith(_PCI_BRIDGE)

    def text(self, attribute: str) -> str | None:
        """Return what a sysfs attribute holds; None if there is none, or it cannot be read."""
        return read_line(f"{self.directory}/{attribute}")

    def above(self) -> "list[Place]":
        """Return the bridges above this function, root port first."""
        hops = self.location.split("/")
        return [
            Place(
                PciAddress.parse(directory.rpartition("/")[2]),
                directory,
                "/".join(hops[: depth + 1]),
                self.ports[:depth],
            )
            for depth, directory in enumerate(self.ports)
        ]

    def group(self) -> list[str] | None:
        """Return the addresses of all of its IOMMU group; None if it has none, or vanished."""
        return _names(f"{self.directory}/iommu_group/devices") or None

    def below(self) -> "list[Place]":
        """Return every function below this one, bridges included; none of what vanishes."""
        found: list[Place] = []
        for name in _names(self.directory):
            address = address_of(name) if ":" in name else None
            if address is None:
                continue
            child = Place(
                address,
                f"{self.directory}/{name}",
                f"{self.location}/{address.devfn}",
                (*self.ports, self.directory),
            )
            found += [child, *child.below()]
        return found


def address_of(name: object) -> PciAddress | None:
    """Return the address that is printed just so; None of anything else."""
    try:
        address = PciAddress.parse(str(name))
    except BadInputError:
        return None
    return address if str(address) == name else None


def place_of(root: str, address: PciAddress) -> Place | None:
    """Return where a function is; None if it is not there.

    Args:
        root: What stands for the host's ``/``, without a slash at its end.
        address: Of the function.
    """
    bus, devices = f"{root}/sys/bus/pci/devices", f"{root}/sys/devices"
    try:
        directory = os.path.normpath(f"{bus}/{os.readlink(f'{bus}/{address}')}")
    except OSError:
        return None
    if not directory.startswith(f"{devices}/") or not os.path.isdir(directory):
        return None
    names = directory[len(devices) + 1 :].split("/")
    chain: list[PciAddress] = []
    ports: list[str] = []
    for depth, name in enumerate(names[:-1], start=1):
        port = address_of(name)
        if port is None:  # a root bus, whatever it stands below
            chain, ports = [], []
            continue
        chain.append(port)
        ports.append("/".join((devices, *names[:depth])))
    return Place(address, directory, location(tuple(chain), address), tuple(ports))


def beside(root: str, place: Place) -> list[Place]:
    """Return the other functions of a function's slot; a VF has none, and is none."""
    if place.physical_function is not None:
        return []
    bus, _, own = place.directory.rpartition("/")
    slot = f"{own.rpartition('.')[0]}."
    others = [name for name in _names(bus) if name.startswith(slot) and name != own]
    found = [place_of(root, address) for name in others if (address := address_of(name))]
    return [other for other in found if other is not None and other.physical_function is None]


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _link_name(path: str) -> str | None:
    try:
        return os.readlink(path).rpartition("/")[2]
    except OSError:
        return None
