"""Whether functions show the VM the capabilities that the plan has: ATS, and a clique."""

from collections.abc import Iterator, Mapping

from pcietune.errors import PcietuneError
from pcietune.guest.check.row import Aspect, Row, compared, not_known
from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.registers.ats import Ats
from pcietune.registers.p2p_approval import approved_clique

_NVIDIA = "10de:"
_NO_CLIQUE = "none"
_NOT_VOUCHED = (
    "x-nv-gpudirect-clique was not given, or with another number: without it NVIDIA's driver takes "
    "no PCIe peer-to-peer between these GPUs"
)
_VOUCHED_UNASKED = (
    "the hypervisor vouches for PCIe peer-to-peer, which the plan does not, and NVIDIA's driver "
    "believes it unseen: where it does not work data is lost in silence; take "
    "x-nv-gpudirect-clique away, or set NCCL_P2P_DISABLE=1"
)


def check_cliques(
    plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess
) -> Iterator[Row]:
    """Yield whether each NVIDIA GPU has the hypervisor's word that was planned, and no other."""
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None or passed.kind is not Kind.GPU or not passed.id.startswith(_NVIDIA):
            continue
        planned = _number(passed.clique)
        try:
            clique = approved_clique(host.config(function))
        except PcietuneError as error:
            yield not_known(passed.name, Aspect.CLIQUE, planned, str(error), error)
            continue
        why = _VOUCHED_UNASKED if passed.clique is None else _NOT_VOUCHED
        yield compared(passed.name, Aspect.CLIQUE, planned, _number(clique), why)


def check_ats(plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess) -> Iterator[Row]:
    """Yield that ATS is shown of each function that has it on the host, or is not known to be.

    Where it is hidden ``notes_on_ats`` tells so: QEMUs to come may hide it, and it is the host's
    ATS that counts. So none differs.
    """
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None or not passed.ats:
            continue
        try:
            ats = Ats.find(host.config(function))
        except PcietuneError as error:
            yield not_known(passed.name, Aspect.ATS, "shown", str(error), error)
            continue
        if ats is not None:
            yield compared(passed.name, Aspect.ATS, "shown", "shown")


def notes_on_ats(plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess) -> Iterator[str]:
    """Yield a sentence on each function whose ATS capability is not as the plan has it."""
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None or passed.ats is None:
            continue
        try:
            shown = Ats.find(host.config(function)) is not None
        except PcietuneError:
            continue
        if passed.ats and not shown:
            yield (
                f"the ATS of {passed.name} is hidden from the VM (ats=off of a newer QEMU, or no "
                "port of its own), which alone slows nothing: the host's ATS counts, see pcietune "
                "audit there"
            )
        elif shown and not passed.ats:
            yield (
                f"{passed.name} has ATS, and had none when it was planned: ATS_ENABLED of its "
                "firmware was changed since"
            )


def _number(clique: int | None) -> str:
    return _NO_CLIQUE if clique is None else str(clique)
