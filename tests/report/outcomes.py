"""Runs of the commands over a tree, as the reports get them."""

from trees.host import TreeHost
from tune.faults import Fault, FaultyHost
from tune.judged import judge, opened, surveyed
from tune.profiles import PROFILE
from tune.undo_in_memory import MemoryUndo

from pcietune.model.profile import ModeName, Profile
from pcietune.model.settings import Enforce
from pcietune.model.undo import UndoRecord
from pcietune.report.outcome import Outcome
from pcietune.tune.change.apply import apply
from pcietune.tune.change.channels import channels
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import restore
from pcietune.tune.match.choose import match_profile


def audited(tree: TreeHost, profile: Profile = PROFILE, mode: ModeName = ModeName.VM) -> Outcome:
    """Return what audit gives to the reports."""
    host = opened(tree)
    return Outcome(
        platform=host.platform(),
        channels=channels(host),
        match=match_profile(profile, surveyed(host, profile), host),
        mode=mode,
        enforce=Enforce.AUDIT,
        audit=judge(host, profile, mode),
    )


def planned(tree: TreeHost, profile: Profile = PROFILE, *, while_in_use: bool = False) -> Outcome:
    """Return what plan gives to the reports."""
    host = opened(tree)
    outcome = audited(tree, profile)
    outcome.plan = plan(host, judge(host, profile), while_in_use=while_in_use)
    return outcome


def applied(
    tree: TreeHost, fault: Fault | None = None, *, interrupted: bool = False
) -> tuple[Outcome, UndoRecord]:
    """Return what apply gives to the reports, and the record that it left."""
    undo = MemoryUndo()
    host = FaultyHost(opened(tree), fault, undo.log)
    outcome = planned(tree)
    assert outcome.plan
    outcome.applied = apply(
        outcome.plan, host, undo, stop=lambda: interrupted, progress=lambda _: None
    )
    outcome.audit = judge(opened(tree))
    return outcome, undo.record


def restored(tree: TreeHost, record: UndoRecord) -> Outcome:
    """Return what restore gives to the reports."""
    host = opened(tree)
    put_back = restore(record, host, while_in_use=False)
    return Outcome(platform=host.platform(), restoration=put_back)
