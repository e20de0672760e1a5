"""What is wanted of a VM, as the command line takes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pcietune.address import PciAddress
from pcietune.guest.kinds import Backend, Firmware, NvSwitchModel

if TYPE_CHECKING:  # the command line has these enums for its help, which reads no plan
    from pcietune.guest.plan import Plan


class Layout(StrEnum):
    """How the VM's fabric is laid out."""

    SWITCHES = "switches"  # an emulated switch for each of the host's: NCCL sees PIX by itself
    PORTS = "ports"  # a root port for each function: NCCL needs a topology file to see neighbours


class Expanders(StrEnum):
    """What gets a root bus of its own."""

    NODE = "node"  # each NUMA node of the host
    GROUP = "group"  # each switch group


class Mig(StrEnum):
    """Whether MIG is on, which PCI does not tell."""

    NOT_KNOWN = "not-known"
    OFF = "off"
    ON = "on"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a VM.

    Attributes:
        gpus: How many GPUs; None where functions are named.
        functions: Named functions, by address or location; empty to have them chosen.
        nics: How many NICs; None: the share of the chosen GPUs in those near to them.
        name: The VM's.
        cpus: How many vCPUs in all; None: the share of its GPUs in the CPUs of their nodes.
        memory_mib: In all; None: likewise.
        hugepage_kib: Size of the hugepages that hold its memory; None for ordinary pages.
        layout: How its fabric is laid out.
        expanders: What gets a root bus of its own.
        firmware: What enumerates its buses.
        qemu: The oldest QEMU that is to run it: 7.2 is (7, 2).
        backend: How VFIO maps its memory.
        clique: Whether the operator vouches for GPUDirect P2P between all its GPUs.
        allow_failing: Whether functions whose audit fails may be given.
        share_switches: Whether it may share a switch group with another tenant's VM.
        nvswitch: Who owns the NVSwitches; None if nobody said.
        modules: Module id of each GPU, by its address on the host; empty if not known.
        mig: Whether MIG is on, by address; what is missing is not known.
        confidential: Whether GPUs are in confidential-computing mode; None if nobody said.
        taken: Plans of other VMs of the same host.
    """

    gpus: int | None = None
    functions: tuple[str, ...] = ()
    nics: int | None = None
    name: str = "vm0"
    cpus: int | None = None
    memory_mib: int | None = None
    hugepage_kib: int | None = None
    layout: Layout = Layout.SWITCHES
    expanders: Expanders = Expanders.NODE
    firmware: Firmware = Firmware.OVMF
    qemu: tuple[int, int] = (7, 2)
    backend: Backend = Backend.CONTAINER
    clique: bool = False
    allow_failing: bool = False
    share_switches: bool = False
    nvswitch: NvSwitchModel | None = None
    modules: Mapping[PciAddress, int] = field(default_factory=dict)
    mig: Mapping[PciAddress, Mig] = field(default_factory=dict)
    confidential: bool | None = None
    taken: "tuple[Plan, ...]" = ()
