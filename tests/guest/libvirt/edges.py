"""Plans at the edge, made of those that are written by hand."""

from guest.plans import a800_two_gpus, l20_one_gpu_and_a_vf, two_gpus_on_ports
from msgspec.structs import replace

from pcietune.guest.kinds import Firmware, Kind
from pcietune.guest.plan import Plan


def with_a_companion() -> Plan:
    """Return a VM whose GPU has its audio function beside it."""
    plan = l20_one_gpu_and_a_vf()
    audio = replace(
        plan.functions[0],
        name="gpu0-1",
        kind=Kind.COMPANION,
        address="0000:23:00.1",
        function=1,
        guest_address="0000:23:00.1",
    )
    return replace(plan, functions=[*plan.functions, audio])


def without_nodes() -> Plan:
    """Return a VM of a host without known nodes: root ports on pcie.0, two of them in a slot."""
    plan = two_gpus_on_ports()
    ports = [
        replace(port, parent="pcie.0", device=0x10 + n // 2, function=n % 2, bus=1 + n)
        for n, port in enumerate(plan.bridges[1:])
    ]
    cell = replace(plan.cells[0], host_node=None, host_cpus=[], hugepage_kib=None)
    return replace(plan, bridges=ports, cells=[cell])


def with_an_unbound_cell() -> Plan:
    """Return a VM of two cells, whose second is of no node, has ordinary pages and other CPUs."""
    plan = a800_two_gpus()
    first = replace(plan.cells[0], distances=[10, 21])
    second = replace(
        first,
        cell=1,
        host_node=None,
        vcpus=[8, 9],
        host_cpus=[],
        hugepage_kib=None,
        memory_mib=1024,
        distances=[21, 10],
    )
    return replace(plan, cells=[first, second])


def with_ovmf() -> Plan:
    """Return a VM whose buses OVMF enumerates."""
    plan = a800_two_gpus()
    machine = replace(plan.machine, firmware=Firmware.OVMF)
    return replace(plan, machine=machine)


def with_a_clique() -> Plan:
    """Return a VM whose GPUs somebody vouches for."""
    plan = a800_two_gpus()
    functions = [
        replace(each, clique=0) if each.kind is Kind.GPU else each for each in plan.functions
    ]
    return replace(plan, machine=replace(plan.machine, qemu="8.1"), functions=functions)


def named(name: str) -> Plan:
    """Return a VM of a name."""
    plan = l20_one_gpu_and_a_vf()
    return replace(plan, machine=replace(plan.machine, name=name))
