"""What a machine of the bench is: its memory, IOMMU and PCIe fabric, read from a YAML file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

_MACHINES = Path(__file__).parent / "machines"
_FUNCTIONS = 8  # of a device: a Function Number has three bits

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$")]
Identity = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
ClassCode = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFF)]
Word = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]
LinkWidth = Literal[1, 2, 4, 8, 16]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of the description; a key that it does not know is an error."""


class Link(_Strict, frozen=True):
    """A function's PCIe link.

    Attributes:
        speed: In GT/s: 2.5, 5, 8, 16, 32 or 64. What a port above an endpoint reports as its
            current speed and width is the endpoint's, whatever is given for the port.
        width: In lanes.
        max_speed: The most that the function can do, in GT/s; None: ``speed``.
        max_width: The most that the function can do, in lanes; None: ``width``.
    """

    speed: float = 16
    width: LinkWidth = 16
    max_speed: float | None = None
    max_width: LinkWidth | None = None


class Acs(_Strict, frozen=True):
    """The ACS registers of a port, or of a function of several.

    Attributes:
        capability: ACS Capability Register; 0x5f is all but P2P Egress Control.
        control: ACS Control Register before the kernel touches it.
        writable: The bits of ACS Control that take a write; None: those of ``capability``.
    """

    capability: Word = 0x5F
    control: Word = 0
    writable: Word | None = None


class Ats(_Strict, frozen=True):
    """An endpoint's ATS registers.

    Attributes:
        capability: ATS Capability Register; 0x60 is Page Aligned Request and Global Invalidate.
        writable: The bits of ATS Control that take a write.
    """

    capability: Word = 0x60
    writable: Word = 0x801F


class Vfs(_Strict, frozen=True):
    """The virtual functions that a function can be told to have (SR-IOV).

    Attributes:
        most: How many.
        device: Their Device ID; the Vendor ID is the physical function's.
        ats: Whether each has an ATS capability of its own.
    """

    most: Annotated[int, msgspec.Meta(ge=1, le=16)]
    device: Word
    ats: bool = False


class Endpoint(_Strict, frozen=True):
    """A function at the end of a link: the whole device, or its Function 0.

    Attributes:
        name: What tests call it; None: they do not speak of it.
        id: Vendor and Device ID, as lspci -n prints them.
        subsystem: Subsystem Vendor ID and Subsystem ID; None: QEMU's.
        class_code: 24 bits, as sysfs prints them: 0x030200.
        bar_mb: Size of the BAR by which peers reach its memory (64 bits, prefetchable), in MiB;
            None: it has none.
        relaxed_ordering: Whether it may set the attribute, as a device may after power-up.
        acs: Its ACS capability; None: it has none.
        ats: Its ATS capability, or whether it has the usual one.
        vfs: None: it has no SR-IOV capability.
        netdev: Whether QEMU's virtio NIC stands for it, not an NVMe controller: the guest's
            ``virtio-pci`` makes it a network interface, given ``driver_override``. Its Device ID is
            then one of 0x1000 to 0x103f, and its Subsystem ID is 1 (virtio_pci_modern_dev.c).
        plugged: Whether it is there from the start; if not, ``guest.plug`` puts it in.
        beside: The device's further functions, in the order of their numbers from 1 on.
    """

    id: Identity
    class_code: ClassCode = msgspec.field(name="class")
    name: Name | None = None
    subsystem: Identity | None = None
    bar_mb: Annotated[int, msgspec.Meta(ge=1)] | None = None
    relaxed_ordering: bool = True
    acs: Acs | None = None
    ats: bool | Ats = False
    vfs: Vfs | None = None
    netdev: bool = False
    plugged: bool = True
    link: Link = Link()
    beside: "list[Endpoint]" = []

    def __post_init__(self) -> None:
        if len(self.beside) >= _FUNCTIONS or any(each.beside for each in self.beside):
            raise ValueError(f"a device has at most {_FUNCTIONS} functions, all beside the first")


class Port(_Strict, frozen=True):
    """A root port or a switch's downstream port, and what is plugged into it, if anything.

    Attributes:
        name: What tests call it; None: they do not speak of it.
        id: Vendor and Device ID; None: the switch's, or QEMU's for a root port.
        acs: Its ACS capability, or whether it has the usual one.
    """

    name: Name | None = None
    id: Identity | None = None
    acs: bool | Acs = True
    link: Link = Link()
    switch: "Switch | None" = None
    endpoint: Endpoint | None = None

    def __post_init__(self) -> None:
        if self.switch is not None and self.endpoint is not None:
            raise ValueError("a port has a switch or an endpoint below it, not both")


class Switch(_Strict, frozen=True):
    """A switch: one upstream port and its downstream ports.

    Attributes:
        name: What tests call the upstream port; None: they do not speak of it.
        id: Vendor and Device ID of the upstream port, and of the ports that state none.
        link: The upstream port's.
    """

    id: Identity
    ports: list[Port]
    name: Name | None = None
    link: Link = Link()


class Root(_Strict, frozen=True):
    """Root ports that share a root bus.

    Attributes:
        numa_node: The bus is a host bridge of its own, on this node; None: it is bus 0.
    """

    ports: list[Port]
    numa_node: int | None = None


class Dmi(_Strict, frozen=True):
    """What the firmware says the machine is."""

    vendor: str
    product: str


class Machine(_Strict, frozen=True):
    """A machine of the bench.

    Attributes:
        name: Of the YAML file.
        port_pm: Whether the kernel lets idle ports sleep, as it does where the firmware dates from
            2015 or later and a port has no hot-plug slot (pci_bridge_d3_possible() in pci.c).
        device_tlb: Whether the IOMMU can answer ATS requests (Intel: bit 2 of ecap).
        append: Words added to the kernel's command line.
        dmi: None: QEMU's own.
        systemd: Whether systemd boots it, with pcietune as ``make install`` puts it; if not, it has
            no init system.
        enabled: Units that systemd starts by itself.
        initrd: What makes it; Debian's tools make it of a system that has ``files`` and pcietune.
        files: Content of files that the machine's owner wrote, by path.
        runs_vms: Whether it has QEMU and KVM, and what a VM of its own boots from (``inner_vm``).
    """

    name: Name
    roots: list[Root]
    memory_mb: int = 1024
    numa_nodes: int = 1
    iommu: Literal["intel", "amd", "none"] = "intel"
    device_tlb: bool = True
    port_pm: bool = False
    append: list[str] = []
    dmi: Dmi | None = None
    systemd: bool = False
    enabled: list[str] = []
    initrd: Literal["bench", "initramfs-tools", "dracut"] = "bench"
    files: dict[str, str] = {}
    runs_vms: bool = False

    def __post_init__(self) -> None:
        names = [name for root in self.roots for name in _names(root.ports) if name]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"names given twice: {', '.join(sorted(repeated))}")


def load_machine(name: str) -> Machine:
    """Read the machine that ``machines/NAME.yaml`` describes.

    Raises:
        FileNotFoundError: There is no such file.
        msgspec.ValidationError: It does not describe a machine; the message says where.
    """
    return msgspec.convert(_load(name) | {"name": name}, Machine)


def _load(name: str) -> dict[str, object]:
    """Return the document; after ``like: OTHER`` its keys join the other's or replace them."""
    document: dict[str, object] = yaml.safe_load((_MACHINES / f"{name}.yaml").read_text())
    other = document.pop("like", None)
    return document if other is None else _load(str(other)) | document


def _names(ports: list[Port]) -> Iterator[str | None]:
    for port in ports:
        yield port.name
        if port.endpoint is not None:
            yield port.endpoint.name
            yield from (each.name for each in port.endpoint.beside)
        if port.switch is not None:
            yield port.switch.name
            yield from _names(port.switch.ports)
