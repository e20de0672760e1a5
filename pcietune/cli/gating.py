"""Hand functions to VFIO: what apply ends with, and what the vfio commands begin with."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from pcietune.cli.interrupts import held_back
from pcietune.cli.judging import look_again
from pcietune.host.drivers import HostDrivers
from pcietune.host.run.hosts_own import Uses, read_hosts_own
from pcietune.host.sysfs import SysfsHost
from pcietune.host.uses.holds import read_holds
from pcietune.host.uses.look import Look
from pcietune.host.vfio_drivers import read_vfio_drivers
from pcietune.model.ats_proof import NO_TRIALS
from pcietune.model.binding import Bound
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold, HoldKind
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.audit import Audit
from pcietune.tune.bind.candidates import wanted
from pcietune.tune.bind.gate import gate, look
from pcietune.tune.bind.judge import flat
from pcietune.tune.bind.scene import Scene


def scene_of(host: SysfsHost, audited: Audit, remembered: Uses | None = None) -> Scene:
    """Return all that decides about binding on a host.

    Args:
        host: The host.
        audited: How it is judged.
        remembered: What the host used itself when apply was last run by hand, where nobody typed.
    """
    known = remembered or {}

    def holds(look: Look, function: PciFunction) -> Sequence[Hold]:
        use = known.get((function.location, function.id))
        found = read_holds(look, function)
        if use is None:
            return found
        said = f"was the host's own when apply was last run by hand: {use}"
        return (Hold(HoldKind.REMEMBERED, said), *found)

    return Scene(
        host,
        audited,
        HostDrivers(host),
        read_vfio_drivers(host.files),
        holds=partial(holds, Look(host.files)),
        holds_now=lambda function: holds(Look(host.files), function),
    )


def pass_gate(host: SysfsHost, outcome: Outcome, until_it_is_told: ExitStack) -> None:
    """Bind what the profile names and is as it wants it, and judge the host again.

    Where nothing may be written, and in a recording, it is only told.
    """
    audited = outcome.audit
    interrupted = outcome.applied is not None and outcome.applied.interrupted
    if audited is None or outcome.disabled is not None or interrupted:
        return
    if not wanted(host, audited):
        return
    scene = scene_of(host, audited, read_hosts_own(host.files) if outcome.unattended else None)
    if outcome.only_judges or host.recorded:
        outcome.bound = Bound(flat(look(scene)))
        return
    interrupts = until_it_is_told.enter_context(held_back())
    outcome.bound = gate(scene, stop=interrupts.asked)
    outcome.errors += outcome.bound.errors
    if outcome.bound.changed:
        seen = NO_TRIALS if outcome.applied is None else outcome.applied.trials
        outcome.audit = look_again(host, audited, seen)
