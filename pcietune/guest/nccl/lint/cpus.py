"""Mistakes in a topology file's cpu elements."""

from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.affinity import parse_affinity
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.node import Node, c_integer

_VENDORS = ("GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  ")
_ARCHITECTURES = ("x86_64", "arm64", "ppc64")


def in_cpus(system: Node) -> Iterator[Found]:
    """Yield what is wrong with cpu elements."""
    cpus = [each for each in system.children if each.name == "cpu"]
    if not cpus:
        yield Found(
            system.offset,
            Severity.WARNING,
            "no-cpu",
            "there is no cpu element: the file tells NCCL nothing",
            "write a cpu for each NUMA node of the VM",
        )
    seen: dict[int, Node] = {}
    for cpu in cpus:
        yield from _in_node(cpu, seen)
        yield from _in_kind(cpu)
    yield from _in_masks(cpus)


def _in_node(cpu: Node, seen: dict[int, Node]) -> Iterator[Found]:
    text = cpu.get("numaid")
    if text is None:
        yield Found(
            cpu.offset,
            Severity.ERROR,
            "numaid",
            "a cpu without numaid: NCCL stops when it has read the file",
            'write numaid="0", or which NUMA node of the VM it is',
        )
        return
    number = c_integer(text)
    if text != str(number):
        yield Found(
            cpu.at("numaid"),
            Severity.ERROR,
            "numaid",
            f"numaid {quoted(text)}: NCCL compares it with what sysfs says, character by character",
            f'write numaid="{number}", or which NUMA node of the VM it is',
        )
    elif number < 0:
        yield Found(
            cpu.at("numaid"),
            Severity.WARNING,
            "numaid",
            f"numaid {number} is no NUMA node: all that has none meets below this one cpu",
            "give the VM NUMA nodes, and write which one",
        )
    if number in seen:
        yield Found(
            cpu.at("numaid"),
            Severity.ERROR,
            "numaid-twice",
            f"a second cpu with numaid {number}: NCCL makes two of one, and finds the first alone",
            "put what is in both into one, or give it its own numaid",
        )
    seen.setdefault(number, cpu)


def _in_kind(cpu: Node) -> Iterator[Found]:
    arch, vendor = cpu.get("arch"), cpu.get("vendor")
    if arch is not None and not arch.startswith(_ARCHITECTURES):
        yield Found(
            cpu.at("arch"),
            Severity.WARNING,
            "cpu-kind",
            f"arch {quoted(arch)}: NCCL does not know it, nor the speed between sockets",
            f"write {', '.join(_ARCHITECTURES)}, or leave it out: NCCL asks the CPU",
        )
    if vendor is not None and not vendor.startswith(_VENDORS):
        yield Found(
            cpu.at("vendor"),
            Severity.WARNING,
            "cpu-kind",
            f"vendor {quoted(vendor)}: NCCL does not know it, nor the speed between sockets",
            "write GenuineIntel or AuthenticAMD, or leave it out: NCCL asks the CPU",
        )
    if cpu.get("familyid") is not None and cpu.get("modelid") is None:
        yield Found(
            cpu.at("familyid"),
            Severity.ERROR if vendor != "AuthenticAMD" else Severity.NOTE,
            "cpu-kind",
            "familyid without modelid: NCCL fills in both or none, and stops at Intel's if one is"
            " missing",
            "write both, or none",
        )


def _in_masks(cpus: list[Node]) -> Iterator[Found]:
    """Yield masks that are none, empty, or of CPUs that another cpu has."""
    masks: list[tuple[Node, frozenset[int]]] = []
    for cpu in cpus:
        text = cpu.get("affinity")
        if text is None:
            continue
        mask = parse_affinity(text)
        if mask is None:
            yield Found(
                cpu.at("affinity"),
                Severity.ERROR,
                "affinity",
                f"affinity {quoted(text)}: NCCL reads groups of eight hex digits between commas,"
                " the highest CPUs first, and would take this for other CPUs",
                "write it as /sys/devices/system/node/node0/cpumap has it, or leave it out",
            )
            continue
        if not mask:
            yield Found(
                cpu.at("affinity"),
                Severity.WARNING,
                "affinity",
                "affinity of no CPU: NCCL binds nothing to it",
                "write the node's CPUs, or leave it out: NCCL asks sysfs",
            )
        yield from _overlaps(cpu, mask, masks)
        masks.append((cpu, mask))


def _overlaps(
    cpu: Node, mask: frozenset[int], others: list[tuple[Node, frozenset[int]]]
) -> Iterator[Found]:
    for other, its in others:
        if both := mask & its:
            what = "the same as" if mask == its else f"has CPU {min(both)} in common with"
            yield Found(
                cpu.at("affinity"),
                Severity.ERROR,
                "affinity-shared",
                f"affinity {quoted(cpu.get('affinity') or '')} {what} that of numaid"
                f" {quoted(other.get('numaid') or '')}: ranks run on the wrong node's CPUs",
                "write the CPUs of each node: no CPU is of two",
            )
            return
