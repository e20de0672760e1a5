"""Judge what firmware says of the NUMA nodes of GPUs and NICs."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import Counts
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup

NODE = "layout.numa-node"
NODES = "layout.numa-nodes"
SPLIT = "layout.numa-split"

_NO_NODE = -1
_TELL = Remedy(
    RemedyKind.BIOS,
    "turn NUMA on (not node interleaving), update firmware; in a VM give its host bridges nodes",
)
_DIVIDE = Remedy(
    RemedyKind.BIOS, "look at nodes per socket (NPS) or sub-NUMA clustering (SNC), and at sockets"
)


def judge_numa(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    groups: Sequence[SwitchGroup],
    wanted: Counts,
) -> list[Finding]:
    """Judge where the host's GPUs and NICs are.

    Args:
        host: Where nodes are read from.
        fabric: Its functions.
        roles: Which function has which role; GPUs and NICs are judged wherever they sit.
        groups: The switch groups.
        wanted: Over how many nodes they may be spread; empty if the profile leaves it open.
    """
    alone = host.platform().numa_nodes == 1  # then nothing is far from anything
    nodes = {
        fabric.functions[address]: _node(host, fabric.functions[address])
        for address, role in roles.items()
        if role in (RoleName.GPU, RoleName.NIC)
    }
    judged = []
    if not alone:
        judged += [_judge_node(host, function, node) for function, node in nodes.items()]
        judged += [_judge_split(group, nodes) for group in groups]
    if wanted:
        judged.append(_judge_nodes({0} if alone else set(nodes.values()), wanted))
    return judged


def _node(host: HostAccess, function: PciFunction) -> int | None:
    try:
        return host.state(function).numa_node
    except PcietuneError:  # it vanished, which is told of its IOMMU group
        return None


def _judge_node(host: HostAccess, function: PciFunction, node: int | None) -> Finding:
    """Judge whether firmware says where a function is: ACPI _PXM of its host bridge.

    Where the kernel's own nodes are not known it may run on one only: then that is no warning.
    """
    told = node is not None and node != _NO_NODE
    missing = node == _NO_NODE
    return Finding(
        NODE,
        Subject.of(function),
        Severity.INFO if host.platform().numa_nodes is None else Severity.WARNING,
        State.PASS if told else State.FAIL if missing else State.ERROR,
        UNKNOWN if node is None else Value(f"node {node}", str(node)),
        Value("a NUMA node"),
        "firmware does not say which node it is near to, so memory and CPUs are chosen blindly"
        if missing
        else ""
        if told
        else "this source does not tell it",
        _TELL if missing else None,
    )


def _judge_split(group: SwitchGroup, nodes: dict[PciFunction, int | None]) -> Finding:
    """Judge whether all of a switch group is near to one node, as its one root port is."""
    found = {nodes.get(function) for function in (*group.gpus, *group.nics)}
    known = sorted(node for node in found if node is not None and node != _NO_NODE)
    fits = len(known) == len(found) == 1
    differ = len(known) > 1
    return Finding(
        SPLIT,
        Subject.of(group.top),
        Severity.INFO,
        State.PASS if fits else State.FAIL if differ else State.ERROR,
        Value(_label(known), ",".join(map(str, known))) if known else UNKNOWN,
        Value("one NUMA node"),
        "its GPUs and NICs are below one root port, and firmware puts them on different nodes"
        if differ
        else ""
        if fits
        else "the node of some of its functions is not known",
        _TELL if differ else None,
    )


def _judge_nodes(found: set[int | None], wanted: Counts) -> Finding:
    known = sorted(node for node in found if node is not None and node != _NO_NODE)
    whole = len(known) == len(found)
    fits = len(known) in wanted
    want = Value(f"{' or '.join(map(str, wanted))} NUMA node{'s' if wanted != (1,) else ''}")
    return Finding(
        NODES,
        HOST,
        Severity.WARNING,
        State.ERROR if not whole else State.PASS if fits else State.FAIL,
        Value(_label(known), str(len(known))) if whole else UNKNOWN,
        want,
        "the node of some GPUs and NICs is not known"
        if not whole
        else ""
        if fits
        else f"the GPUs and NICs are spread over {_label(known)} where their kind has {want.text}",
        None if fits or not whole else _DIVIDE,
    )


def _label(nodes: Sequence[int]) -> str:
    plural = "s" if len(nodes) > 1 else ""
    return f"NUMA node{plural} {', '.join(map(str, nodes))}"
