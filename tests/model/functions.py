"""Functions in memory, for fabrics that no file describes."""

from collections.abc import Iterable

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.express import PortType

GPU = ("10de:20f3", 0x030200)
NIC = ("15b3:101b", 0x020700)
PORT = ("1000:c010", 0x060400)


def function(path: str, kind: tuple[str, int] = PORT, *, driver: str | None = None) -> PciFunction:
    """Return the function at the end of ``path``, which names every bridge above it.

    Addresses are separated by blanks and lie in domain 0: ``20:01.0 21:00.0``.
    """
    *ports, address = (PciAddress.parse(text) for text in path.split())
    vendor, device = (int(part, 16) for part in kind[0].split(":"))
    return PciFunction(
        address=address,
        ports=tuple(ports),
        vendor=vendor,
        device=device,
        subsystem_vendor=0,
        subsystem_device=0,
        class_code=kind[1],
        driver=driver,
    )


def fabric(functions: Iterable[PciFunction]) -> Fabric:
    """Return the fabric in which every bridge is what its place says."""
    return Fabric(sorted(functions, key=lambda f: f.address), {})


def by_address(built: Fabric, address: str) -> PciFunction:
    """Return the function at an address of domain 0."""
    return built.functions[PciAddress.parse(address)]


def port_type(built: Fabric, address: str) -> PortType:
    """Return what kind of port the bridge at an address of domain 0 is."""
    return built.port_type(by_address(built, address))
