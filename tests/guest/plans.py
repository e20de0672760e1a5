"""Plans written by hand, for tests of what is made from one.

Addresses follow from QEMU's and the firmware's rules: a root bus begins at its bus_nr, and numbers
go depth first, one for each port.
"""

import msgspec

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import Backend, BridgeKind, Firmware, Kind, NvSwitchModel
from pcietune.guest.plan import (
    SCHEMA,
    Budget,
    Cell,
    Host,
    Machine,
    NvSwitchPlan,
    Plan,
)

GIB = 1 << 30
_BARS = {Kind.GPU: ([128 * GIB, 32 << 20], [16 << 20]), Kind.NIC: ([32 << 20], [])}


def a800_two_gpus() -> Plan:
    """Return a VM of two GPUs and two NICs below one switch of node 0."""
    functions = [
        passed("gpu0", "0000:23:00.0", "0000:20:00.0/00.0/00.0/00.0", "dp0", "0000:23:00.0"),
        passed("gpu1", "0000:24:00.0", "0000:20:00.0/00.0/01.0/00.0", "dp1", "0000:24:00.0"),
        passed("nic0", "0000:25:00.0", "0000:20:00.0/00.0/02.0/00.0", "dp2", "0000:25:00.0"),
        passed("nic1", "0000:26:00.0", "0000:20:00.0/00.0/03.0/00.0", "dp3", "0000:26:00.0"),
    ]
    return _plan(
        [cell(0, host_node=0, first_vcpu=0, vcpus=8)],
        [_expander(0), *_switch(0, "0000:20:00.0/00.0", ports=4)],
        functions,
        nvswitch=NvSwitchModel.HOST,
    )


def a800_four_gpus_on_two_nodes() -> Plan:
    """Return a VM of four GPUs and four NICs, below one switch of each node."""
    first = a800_two_gpus()
    functions = [
        passed("gpu2", "0000:43:00.0", "0000:40:00.0/00.0/00.0/00.0", "dp4", "0000:43:00.0", 1),
        passed("gpu3", "0000:44:00.0", "0000:40:00.0/00.0/01.0/00.0", "dp5", "0000:44:00.0", 1),
        passed("nic2", "0000:45:00.0", "0000:40:00.0/00.0/02.0/00.0", "dp6", "0000:45:00.0", 1),
        passed("nic3", "0000:46:00.0", "0000:40:00.0/00.0/03.0/00.0", "dp7", "0000:46:00.0", 1),
    ]
    cells = [
        cell(0, host_node=0, first_vcpu=0, vcpus=8, distances=(10, 21)),
        cell(1, host_node=1, first_vcpu=8, vcpus=8, distances=(21, 10)),
    ]
    return _plan(
        cells,
        [*first.bridges, _expander(1), *_switch(1, "0000:40:00.0/00.0", ports=4)],
        [*first.functions, *functions],
        nvswitch=NvSwitchModel.HOST,
    )


def l20_one_gpu_and_a_vf() -> Plan:
    """Return a VM of one GPU and a VF of the NIC that shares its switch, both x16 at 16 GT/s."""
    nic = passed("nic0", "0000:25:00.1", "0000:20:00.0/00.0/02.0/00.1", "dp1", "0000:24:00.0")
    functions = [
        passed("gpu0", "0000:23:00.0", "0000:20:00.0/00.0/00.0/00.0", "dp0", "0000:23:00.0"),
        msgspec.structs.replace(nic, id="15b3:101e", physical_function="0000:25:00.0"),
    ]
    return _plan(
        [cell(0, host_node=0, first_vcpu=0, vcpus=8)],
        [_expander(0), *_switch(0, "0000:20:00.0/00.0", ports=2)],
        functions,
    )


def two_gpus_on_ports() -> Plan:
    """Return a flat VM: two GPUs and two NICs, each below a root port of its own."""
    names = ("gpu0", "gpu1", "nic0", "nic1")
    ports = [
        _bridge(f"rp{n}", BridgeKind.ROOT_PORT, "pxb0", n, f"0000:20:{n:02x}.0", 0x21 + n)
        for n in range(4)
    ]
    functions = [
        passed(
            name,
            f"0000:{0x23 + n:02x}:00.0",
            f"0000:20:00.0/00.0/{n:02x}.0/00.0",
            f"rp{n}",
            f"0000:{0x21 + n:02x}:00.0",
        )
        for n, name in enumerate(names)
    ]
    expander = msgspec.structs.replace(_expander(0), last_bus=0x24)
    return _plan([cell(0, host_node=0, first_vcpu=0, vcpus=8)], [expander, *ports], functions)


def cell(
    number: int,
    *,
    host_node: int,
    first_vcpu: int,
    vcpus: int,
    distances: tuple[int, ...] = (10,),
) -> Cell:
    """Return a cell whose vCPUs are pinned to as many CPUs of the host, from 32 times the node."""
    return Cell(
        cell=number,
        host_node=host_node,
        vcpus=list(range(first_vcpu, first_vcpu + vcpus)),
        host_cpus=list(range(32 * host_node, 32 * host_node + vcpus)),
        threads=1,
        memory_mib=65536,
        hugepage_kib=1048576,
        distances=list(distances),
    )


def passed(  # noqa: PLR0913, PLR0917 -- a row of a table
    name: str, address: str, path: str, parent: str, guest_address: str, node: int = 0
) -> Passed:
    """Return a GPU or a NIC, as its name says, whose cell has the number of its node."""
    kind = Kind(name.rstrip("0123456789"))
    large, small = _BARS[kind]
    return Passed(
        name=name,
        kind=kind,
        address=address,
        path=path,
        id="10de:20f3" if kind is Kind.GPU else "15b3:101b",
        class_code="0x030200" if kind is Kind.GPU else "0x020700",
        physical_function=None,
        iommu_group=int(address[5:7], 16),
        numa_node=node,
        switch="/".join(path.split("/")[:2]),
        link_speed="16.0 GT/s PCIe",
        link_width=16,
        bars_64=large,
        bars_32=small,
        ats=kind is Kind.NIC,
        parent=parent,
        function=0,
        guest_address=guest_address,
        cell=node,
        clique=None,
    )


def _expander(node: int) -> Bridge:
    bus = 0x20 * (node + 1)
    made = _bridge(f"pxb{node}", BridgeKind.EXPANDER, "pcie.0", 8 + node, "", bus)
    address = f"0000:00:{8 + node:02x}.0"
    return msgspec.structs.replace(made, address=address, cell=node, last_bus=bus + 6)


def _switch(node: int, stands_for: str, *, ports: int) -> list[Bridge]:
    """Return a root port, an upstream port and downstream ports below the node's expander."""
    bus = 0x20 * (node + 1)
    last = bus + 2 + ports
    root = _bridge(
        f"rp{node}", BridgeKind.ROOT_PORT, f"pxb{node}", 0, f"0000:{bus:02x}:00.0", bus + 1
    )
    upstream = _bridge(
        f"up{node}", BridgeKind.UPSTREAM_PORT, f"rp{node}", 0, f"0000:{bus + 1:02x}:00.0", bus + 2
    )
    return [
        msgspec.structs.replace(root, last_bus=last, speed="16", width=16),
        msgspec.structs.replace(upstream, last_bus=last, stands_for=stands_for),
        *(
            _bridge(
                f"dp{4 * node + n}",
                BridgeKind.DOWNSTREAM_PORT,
                f"up{node}",
                n,
                f"0000:{bus + 2:02x}:{n:02x}.0",
                bus + 3 + n,
            )
            for n in range(ports)
        ),
    ]


def _bridge(  # noqa: PLR0913, PLR0917 -- a row of a table
    name: str, kind: BridgeKind, parent: str, device: int, address: str, bus: int
) -> Bridge:
    number = int(name.strip("abcdefghijklmnopqrstuvwxyz"))
    numbered = {BridgeKind.ROOT_PORT: 1 + number, BridgeKind.DOWNSTREAM_PORT: 64 + number}
    return Bridge(
        name=name,
        kind=kind,
        parent=parent,
        device=device,
        function=0,
        address=address,
        bus=bus,
        last_bus=bus,
        chassis=numbered.get(kind),
        slot=numbered.get(kind),
        speed=None,
        width=None,
        cell=None,
        stands_for=None,
    )


def _plan(
    cells: list[Cell],
    bridges: list[Bridge],
    functions: list[Passed],
    nvswitch: NvSwitchModel = NvSwitchModel.NONE,
) -> Plan:
    return Plan(
        schema=SCHEMA,
        pcietune="0",
        host=Host(vendor="Bench", product="a800", profile="a800-sxm4"),
        machine=Machine(
            name="vm0", qemu="7.2", firmware=Firmware.SEABIOS, backend=Backend.CONTAINER
        ),
        cells=cells,
        bridges=bridges,
        functions=functions,
        budget=Budget(
            buses=len(bridges), spare_buses=100, memory_64_mib=1 << 20, memory_32_mib=256
        ),
        pairs=[],
        nvswitch=NvSwitchPlan(
            model=nvswitch,
            board=None if nvswitch is NvSwitchModel.NONE else "a800",
            switches=[],
            partition=None,
            modules={},
            notes=[],
        ),
        reasons=[],
        warnings=[],
    )
