"""What a plan says of the VM's devices: its bridges, and the functions that it is given."""

import msgspec

from pcietune.guest.forms import (
    Address,
    Bus,
    BusName,
    Bytes,
    CellNumber,
    Chassis,
    ClassCode,
    Clique,
    Device,
    DeviceName,
    Function,
    HostNode,
    Id,
    Lanes,
    LinkSpeed,
    Location,
    Natural,
    PhysicalSlot,
    PortSpeed,
)
from pcietune.guest.kinds import BridgeKind, Kind


class Bridge(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A root bus or port of the VM; parents stand before their children.

    Attributes:
        name: QEMU's id of it: ``pxb0``, ``rp0``, ``up0``, ``dp0``.
        kind: What it is.
        parent: ``pcie.0``, or the name of the bridge that it is below.
        device: Device Number on its parent's bus.
        function: Function Number; of several root ports in one slot function 0 is multifunction.
        address: In the VM, as predicted.
        bus: Number of the bus below it; for an expander QEMU's ``bus_nr``.
        last_bus: The highest number of a bus below it.
        chassis: Of a root or downstream port, with ``slot`` unique in the VM; None for the others.
        slot: Its physical slot number, likewise.
        speed: Of a root port's link, in GT/s as QEMU's ``x-speed`` takes it (2_5, 5, 8, 16); None:
            QEMU's own.
        width: Of a root port's link, in lanes; None: QEMU's own.
        cell: NUMA node of the VM that an expander is near to; None for the others.
        stands_for: Location of the host's upstream port that a switch stands for; None for others.
        link_speed: Of the link above that port on the host, as sysfs prints what it runs at; None
            if not known, and for all but the topmost switch's upstream port.
        link_width: Likewise, in lanes.
    """

    name: DeviceName
    kind: BridgeKind
    parent: BusName
    device: Device
    function: Function
    address: Address
    bus: Bus
    last_bus: Bus
    chassis: Chassis | None
    slot: PhysicalSlot | None
    speed: PortSpeed | None
    width: Lanes | None
    cell: CellNumber | None
    stands_for: Location | None
    link_speed: LinkSpeed | None = None
    link_width: Lanes | None = None


class Passed(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A function of the host that the VM is given.

    Attributes:
        name: QEMU's id of it: ``gpu0``, ``nic0``, ``nvswitch0``; a companion is ``gpu0-1``.
        kind: What it is.
        address: On the host.
        path: Its location on the host.
        id: Vendor and Device ID, as ``10de:20f3``; of a VF as the kernel tells it.
        class_code: 24 bits in hex, as ``0x030200``.
        physical_function: Of a VF, its PF's address on the host; None for others.
        iommu_group: None if not known.
        numa_node: The host's; None if not known.
        switch: Location of the host's topmost upstream port above it; None if it is below none.
        link_speed: The most of its link and the port above it, as sysfs prints it
            (``16.0 GT/s PCIe``); None if not known.
        link_width: In lanes; None if not known.
        bars_64: Sizes in bytes of its 64-bit prefetchable memory BARs.
        bars_32: Sizes in bytes of its other memory BARs.
        ats: Whether it has an ATS capability on the host; None if that could not be read.
        parent: Name of the bridge that it is below.
        function: Function Number below it.
        guest_address: In the VM, as predicted.
        cell: NUMA node of the VM that it is near to; None if not known.
        clique: Of NVIDIA's GPUDirect P2P, which the operator vouches for; None for no such word.
    """

    name: DeviceName
    kind: Kind
    address: Address
    path: Location
    id: Id
    class_code: ClassCode
    physical_function: Address | None
    iommu_group: Natural | None
    numa_node: HostNode | None
    switch: Location | None
    link_speed: LinkSpeed | None
    link_width: Lanes | None
    bars_64: list[Bytes]
    bars_32: list[Bytes]
    ats: bool | None
    parent: DeviceName
    function: Function
    guest_address: Address
    cell: CellNumber | None
    clique: Clique | None
