"""Checks a VM, from the inside, against its plan."""

from collections.abc import Iterable, Mapping

from pcietune.errors import BadInputError
from pcietune.guest.check.capabilities import check_ats, check_cliques, notes_on_ats
from pcietune.guest.check.checked import Checked
from pcietune.guest.check.links import check_links, narrow_links
from pcietune.guest.check.matching import match
from pcietune.guest.check.nodes import check_distances, check_nodes
from pcietune.guest.check.other_host import is_its_host
from pcietune.guest.check.places import check_places
from pcietune.guest.check.row import Row
from pcietune.guest.check.shared_switches import check_switches
from pcietune.guest.check.topology_file import TopologyFile, check_topology, note_without_file
from pcietune.guest.check.unplanned import check_unplanned
from pcietune.guest.check.windows import check_bars
from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction


def check(plan: Plan, host: HostAccess, topology: TopologyFile | None = None) -> Checked:
    """Return what of a VM is as planned, what differs, and what is not known.

    Args:
        plan: The plan.
        host: The VM, from the inside.
        topology: NCCL's file there; None if it has none, or it is not known.

    Raises:
        BadInputError: This is the host that the plan is for, not the VM.
    """
    listed = host.functions()
    functions = {function.address: function for function in listed}
    if is_its_host(plan, functions):
        raise BadInputError(
            f"this is the host of {plan.machine.name}, not the VM: its functions are where the "
            "host has them",
            hint="take the plan into the VM, and run pcietune guest check there",
        )
    matched = match(plan, listed)
    rows: list[Row] = [
        *check_places(plan, matched, functions),
        *check_unplanned(listed, matched.values()),
        *check_switches(plan, matched, functions),
        *check_bars(plan, matched, host),
        *check_nodes(plan, host),
        *check_distances(plan, matched, host),
        *check_links(plan, matched, functions, host),
        *check_cliques(plan, matched, host),
        *check_ats(plan, matched, host),
        *(() if topology is None else check_topology(topology, plan, matched, host)),
    ]
    notes = [
        *_nothing_there(plan, matched),
        *notes_on_ats(plan, matched, host),
        *narrow_links(plan, matched, host),
        *_alike(plan, matched),
        *_of_the_host(plan),
        *(note_without_file(plan) if topology is None and not host.recorded else ()),
    ]
    return Checked(plan.machine.name, tuple(rows), tuple(notes))


def _nothing_there(plan: Plan, matched: Mapping[str, PciFunction]) -> Iterable[str]:
    if plan.functions and not matched:
        yield "nothing of the plan is here: is this another VM, or are its devices not passed yet?"


def _alike(plan: Plan, matched: Mapping[str, PciFunction]) -> Iterable[str]:
    """Yield which functions cannot be told from each other."""
    by_id: dict[str, list[str]] = {}
    for passed in plan.functions:
        if passed.name in matched:
            by_id.setdefault(passed.id, []).append(passed.name)
    alike = [", ".join(names) for names in by_id.values() if len(names) > 1]
    if alike:
        yield (
            f"of one id, and not told apart here: {'; '.join(alike)}; which of the host's each is, "
            "serial numbers tell (nvidia-smi, mstflint)"
        )


def _of_the_host(plan: Plan) -> Iterable[str]:
    """Yield what decides on the bandwidth of GPUDirect RDMA, and no VM shows."""
    if {Kind.GPU, Kind.NIC} <= {passed.kind for passed in plan.functions}:
        yield (
            "whether ATS is on and its host's ports have DirectTrans cannot be seen from here: "
            "pcietune audit on the host"
        )
