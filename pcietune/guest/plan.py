"""A plan: which functions of a host a VM is given, and where the VM will see each.

A plan is a JSON document. All other texts (QEMU's arguments, libvirt's XML, NCCL's topology file)
are made from a plan alone; docs/json.md explains each key. Addresses are written in full and in
lower case, as everywhere; sizes are in the units that the names end with.
"""

import msgspec

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.forms import (
    Address,
    Bus,
    CellNumber,
    Cpu,
    DeviceName,
    Distance,
    HostNode,
    HugepageKib,
    Mebibytes,
    Module,
    Natural,
    Release,
    SomeMebibytes,
    Threads,
    VmName,
    Word,
)
from pcietune.guest.kinds import Backend, Firmware, NvSwitchModel

SCHEMA = 1


class Host(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The host that a plan is for.

    Attributes:
        vendor: DMI sys_vendor; None if not known.
        product: DMI product_name; None if not known.
        profile: The profile that it was judged by; None without one.
    """

    vendor: str | None
    product: str | None
    profile: str | None


class Machine(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The VM apart from its devices.

    Attributes:
        name: The VM's name.
        qemu: The oldest QEMU that is to run it, as ``7.2``.
        firmware: What enumerates its buses.
        backend: How VFIO maps its memory.
    """

    name: VmName
    qemu: Release
    firmware: Firmware
    backend: Backend


class Cell(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One NUMA node of the VM, on one of the host.

    Attributes:
        cell: Its number in the VM, from 0.
        host_node: The host's node that its CPUs and memory are of; None if they are not bound.
        vcpus: Numbers of its CPUs in the VM.
        host_cpus: For each of ``vcpus`` the host's CPU that it is pinned to; empty if not pinned.
        threads: How many vCPUs share a core, in order: 1, or 2 where ``host_cpus`` are siblings.
        memory_mib: Its memory.
        hugepage_kib: Size of the hugepages that hold it; None for ordinary pages.
        distances: To each cell, in order, as ACPI's SLIT has them; 10 to itself.
    """

    cell: CellNumber
    host_node: HostNode | None
    vcpus: list[Cpu]
    host_cpus: list[Cpu]
    threads: Threads
    memory_mib: SomeMebibytes
    hugepage_kib: HugepageKib | None
    distances: list[Distance]


class Budget(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the VM's devices need of its address and bus numbers.

    Attributes:
        buses: Bus numbers that the plan's bridges use, of 256 in the VM's only domain.
        spare_buses: Numbers left between root buses, for ports that libvirt adds and hot-plug.
        memory_64_mib: The 64-bit window that all BARs need, rounded to a power of two.
        memory_32_mib: The window below 4 GiB that they need.
    """

    buses: Bus
    spare_buses: Bus
    memory_64_mib: SomeMebibytes
    memory_32_mib: Mebibytes


class Expectation(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a pair of the VM's GPUs, or a NIC and a GPU, may expect.

    Attributes:
        one: Name of the first.
        other: Name of the second.
        means: What data goes by, in the words of ``pcietune paths``.
        bandwidth: Its class, in words.
        why: On what it stands, or why no better.
        not_known: What it depends on and a plan cannot tell, each with what tells it.
    """

    one: DeviceName
    other: DeviceName
    means: str
    bandwidth: str
    why: str
    not_known: list[str]


class NvSwitchPlan(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Which partition of the NVSwitches the VM's GPUs are.

    Attributes:
        model: Who owns the switches.
        board: Name of the board, which tells its partitions; None if it has no NVSwitches, or is
            not known.
        switches: Addresses on the host of its NVSwitches; empty where they are no PCI functions.
        partition: Fabric Manager's id of the partition; None if there is none, or not known.
        modules: Module id of each GPU, by its name; empty if not known.
        notes: What holds by inference only, or has to be known.
    """

    model: NvSwitchModel
    board: Word | None
    switches: list[Address]
    partition: Natural | None
    modules: dict[DeviceName, Module]
    notes: list[str]


class Plan(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All of it.

    Attributes:
        schema: Of this document.
        pcietune: The version that made it.
        host: The host that it is for.
        machine: The VM apart from its devices.
        cells: Its NUMA nodes; one that is not bound where the host's are not known.
        bridges: Its root buses and ports.
        functions: What it is given, in the order of guest addresses.
        budget: Bus numbers and address windows.
        pairs: What pairs of them may expect.
        nvswitch: The part of the NVSwitches.
        reasons: Why these functions, in sentences.
        warnings: What is not as it should be.
    """

    schema: int
    pcietune: str
    host: Host
    machine: Machine
    cells: list[Cell]
    bridges: list[Bridge]
    functions: list[Passed]
    budget: Budget
    pairs: list[Expectation]
    nvswitch: NvSwitchPlan
    reasons: list[str]
    warnings: list[str]

    def bridge(self, name: str) -> Bridge | None:
        """Return the bridge of a name; None for ``pcie.0``."""
        return next((each for each in self.bridges if each.name == name), None)

    def function(self, name: str) -> Passed:
        """Return the function of a name.

        Raises:
            KeyError: There is none.
        """
        for each in self.functions:
            if each.name == name:
                return each
        raise KeyError(name)
