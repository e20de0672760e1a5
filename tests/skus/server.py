"""GPU servers as trees: so many switches, with so many GPUs and NICs below each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, bars, downstream_port, nvswitch, root_port, upstream_port
from trees.host import TreeHost

LONELY_GPU = "0000:c1:00.0"
VF = "15b3:101e"

_ACS_CAPABLE = 0x005F
_ACS_FOR_VMS = 0x001D  # SrcValid ReqRedir CmpltRedir UpstreamFwd
_ACS_ABOVE_NICS = 0x005D  # the same and DirectTrans


@dataclass(frozen=True)
class Server:
    """What is where in a server; every number is the hardware's, none a profile's.

    Attributes:
        gpus: Ids of its GPUs, which take turns; a class other than 0302 follows after a blank.
        nics: Ids of its NICs, which take turns.
        switches: How many PCIe switches it has.
        gpus_each: GPUs below each of them.
        nics_each: NICs below each of them.
        nvswitches: Ids of its NVSwitches, which are below a switch of their own.
        vfs: Virtual functions of each NIC.
        nodes: NUMA nodes of its switches, which take turns.
        lonely: Whether one more GPU is at ``LONELY_GPU``, below a root port of its own.
        for_vms: Whether it is set for VMs; else for bare metal, with the IOMMU off.
    """

    gpus: Sequence[str]
    nics: Sequence[str]
    switches: int = 4
    gpus_each: int = 2
    nics_each: int = 2
    nvswitches: Sequence[str] = ()
    vfs: int = 0
    nodes: Sequence[int] = (0, 0, 1, 1)
    lonely: bool = False
    for_vms: bool = True

    def build(self, root: Path) -> TreeHost:
        """Return the server, below ``root``."""
        host = TreeHost(root)
        host.put("sys/devices/system/node/has_cpu", f"0-{max(*self.nodes, 1)}")
        if self.for_vms:
            host.intel_iommu("dmar0")
        for number, function in enumerate(self._functions()):
            host.add(replace(function, group=number, iommu="dmar0") if self.for_vms else function)
        return host

    def _functions(self) -> Iterator[Function]:
        for switch in range(self.switches):
            node = {"numa_node": str(self.nodes[switch % len(self.nodes)])}
            for function in self._switch(switch):
                yield replace(function, attributes={**function.attributes, **node})
        if self.lonely:
            yield root_port("0000:c0:01.0", acs=self._acs(_ACS_FOR_VMS))
            yield self._gpu(LONELY_GPU, "0000:c0:01.0", self.gpus[0])
        if self.nvswitches:
            yield root_port("0000:d0:01.0", acs=self._acs(_ACS_FOR_VMS))
            yield upstream_port("0000:d1:00.0", below="0000:d0:01.0")
        for number, identity in enumerate(self.nvswitches):
            port = f"0000:d2:{number:02x}.0"
            yield downstream_port(port, below="0000:d1:00.0", acs=self._acs(_ACS_FOR_VMS))
            config = ConfigBuilder(identity, 0x068000).express(ENDPOINT)
            yield replace(nvswitch(f"0000:{0xD3 + number:02x}:00.0", below=port), config=config)

    def _switch(self, number: int) -> Iterator[Function]:
        """Yield one switch, from bus 20, 40 ... on, of many 10, 20 ..., and what is below it."""
        bus = (0x20 if self.switches <= 4 else 0x10) * (number + 1)
        root, top = f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0"
        yield root_port(root, acs=self._acs(_ACS_FOR_VMS))
        yield upstream_port(top, below=root)
        for slot in range(self.gpus_each + self.nics_each):
            port, below = f"0000:{bus + 2:02x}:{slot:02x}.0", f"0000:{bus + 3 + slot:02x}:00.0"
            is_gpu = slot < self.gpus_each
            acs = self._acs(_ACS_FOR_VMS if is_gpu else _ACS_ABOVE_NICS)
            yield downstream_port(port, below=top, acs=acs)
            if is_gpu:
                turn = number * self.gpus_each + slot
                yield self._gpu(below, port, self.gpus[turn % len(self.gpus)])
            else:
                turn = number * self.nics_each + slot - self.gpus_each
                yield from self._nic(below, port, self.nics[turn % len(self.nics)])

    def _gpu(self, address: str, port: str, gpu: str) -> Function:
        identity, _, device_class = gpu.partition(" ")
        config = ConfigBuilder(identity, int(device_class or "0302", 16) << 8).express(ENDPOINT)
        return Function(address, config, below=port, attributes={"resource": bars()})

    def _nic(self, address: str, port: str, identity: str) -> Iterator[Function]:
        config = ConfigBuilder(identity, 0x020000).express(ENDPOINT).ats(*self._ats())
        if self.vfs:
            config.sriov(total=self.vfs, enabled=self.vfs, vf_device=int(VF.partition(":")[2], 16))
        yield Function(address, config, below=port)
        for index in range(1, self.vfs + 1):
            vf = ConfigBuilder(VF, 0x020000).express(ENDPOINT).ats(*self._ats())
            own = f"{address.removesuffix('0')}{index}"
            yield Function(own, vf, below=port, physical_function=address)

    def _acs(self, for_vms: int) -> tuple[int, int]:
        return _ACS_CAPABLE, for_vms if self.for_vms else 0

    def _ats(self) -> tuple[int, int]:
        return 0x0020, 0x8000 if self.for_vms else 0
