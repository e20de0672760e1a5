"""What NCCL has to be told in the VM by its environment, each with the reason."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.errors import BadInputError, quoted
from pcietune.guest.kinds import Kind
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.placing import Place, merges_vfs, places
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan

_PLAIN_PATH = re.compile(r"/[\w./+-]*", re.ASCII)
_NCCL_NEEDS = (
    "GPUDirect RDMA needs, in the VM, the module nvidia_peermem"
    " (/sys/module/nvidia_peermem/version), or dma-buf in driver and NIC."
)
_RCCL_NEEDS = (
    "GPUDirect RDMA needs, in the VM, /sys/kernel/mm/memory_peers/amdkfd/version, or a kernel with"
    " CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY."
)
_RCCL_WARNS = (
    "RCCL warns where /proc/sys/kernel/numa_balancing of the VM is 1, iommu=pt is not on its"
    " kernel's command line, or HSA_FORCE_FINE_GRAIN_PCIE=1 is not set."
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable.

    Attributes:
        name: Of the variable.
        text: Its value.
        why: One line.
        wanted: Whether it is to be set; else it is one to know of.
    """

    name: str
    text: str
    why: str
    wanted: bool = True


def environment(plan: Plan, wanted: Wanted, file: str) -> list[Variable]:
    """Return the variables for a plan's VM, whose topology file has that path there.

    Raises:
        BadInputError: The path is not one that both a shell and ``nccl.conf`` take as it is.
    """
    if not _PLAIN_PATH.fullmatch(file):
        raise BadInputError(
            f"{quoted(file)}: no absolute path of letters, digits and /._+-",
            hint="name another: --topo-file /etc/nccl-topology.xml",
        )
    found = places(plan, wanted)
    has_nics = any(place.function.kind is Kind.NIC for place in found)
    return [
        Variable(
            "NCCL_TOPO_FILE",
            file,
            "the same file for every rank, in containers too; a missing one is told by"
            " NCCL_DEBUG=INFO only",
        ),
        *(_of_nics(plan, wanted, found) if has_nics else ()),
        *_of_clique(plan),
        Variable(
            "NCCL_IGNORE_CPU_AFFINITY",
            "1",
            "only where the launcher binds ranks to CPUs that it chooses itself",
            wanted=False,
        ),
    ]


def reminders(plan: Plan, library: Library) -> list[str]:
    """Return what GPUDirect RDMA, and RCCL, need in the VM beside variables, in sentences.

    Source of what RCCL warns of: ROCm/rccl 0cbce2a7.
    """
    has_nics = any(each.kind is Kind.NIC for each in plan.functions)
    if library is Library.RCCL:
        return [*([_RCCL_NEEDS] if has_nics else []), _RCCL_WARNS]
    return [_NCCL_NEEDS] if has_nics else []


def shell_lines(variables: list[Variable], told: list[str]) -> Iterator[str]:
    """Yield the lines for a shell, with comments."""
    yield from _lines(variables, told, "export ")


def conf_lines(variables: list[Variable], told: list[str]) -> Iterator[str]:
    """Yield the lines for ``/etc/nccl.conf``, with comments."""
    yield from _lines(variables, told, "")


def _lines(variables: list[Variable], told: list[str], before: str) -> Iterator[str]:
    for each in variables:
        yield f"# {each.why}"
        yield f"{'' if each.wanted else '# '}{before}{each.name}={each.text}"
    yield from (f"# {sentence}" for sentence in told)


def _of_nics(plan: Plan, wanted: Wanted, found: list[Place]) -> Iterator[Variable]:
    yield Variable(
        "NCCL_IB_PCI_RELAXED_ORDERING",
        "1",
        "what a NIC reads of a GPU gets past CmpltRedir, which a VM's host has on, only with"
        " Relaxed Ordering: without, it takes the detour by the root complex",
    )
    if not merges_vfs(plan, wanted):
        yield Variable(
            "NCCL_IB_MERGE_VFS", "0", "a NIC's Device Number is not 0, and NCCL would take it for 0"
        )
    if alone := _without_nic(found):
        yield Variable(
            "NCCL_NET_GDR_LEVEL",
            "PHB",
            f"{', '.join(alone)}: no NIC below the same switch, so NCCL copies through memory;"
            " try this, and measure",
            wanted=False,
        )


def _of_clique(plan: Plan) -> Iterator[Variable]:
    if any(each.clique is not None for each in plan.functions):
        yield Variable(
            "NCCL_P2P_DISABLE",
            "1",
            "the way back if collectives hang or data is wrong: then the clique's word is not true",
            wanted=False,
        )


def _without_nic(found: list[Place]) -> list[str]:
    """Return the GPUs that have no NIC below their topmost switch, by name."""
    with_nic = {place.switches[:1] for place in found if place.function.kind is Kind.NIC} - {()}
    return [
        place.function.name
        for place in found
        if place.function.kind is Kind.GPU and place.switches[:1] not in with_nic
    ]
