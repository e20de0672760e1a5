"""Everything that one run of a command found out and did, for both kinds of report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.binding import Bound
from pcietune.model.boot_guard import BootGuard
from pcietune.model.finding import Finding, Remedy, State
from pcietune.model.kept_policy import KeptPolicy
from pcietune.model.plan import HeldBack, Plan
from pcietune.model.platform import Platform
from pcietune.model.profile import ModeName
from pcietune.model.protection import Protection
from pcietune.model.settings import Enforce
from pcietune.model.severity import Severity
from pcietune.model.standing import Standing
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change.apply import Applied
from pcietune.tune.change.channels import Channels
from pcietune.tune.change.restore import Restoration
from pcietune.tune.match.choose import MatchResult


@dataclass(slots=True)
class Outcome:
    """One run. What stays None was not reached, or is not this command's business.

    Attributes:
        tells_channels: Whether the ways are told: to find out costs time, so it must be wanted.
        platform: The host apart from its functions.
        channels: The ways that are open.
        match: The profile, and why it is the one.
        mode: The duty that the host is judged for.
        group_modes: The duties of switch groups that differ from it, by location.
        enforce: What may run unattended here.
        unattended: Whether nobody typed the command, so that ``enforce`` binds it.
        disabled: Why pcietune is switched off here; None if it is not.
        guard: What the boot-loop guard knows of this boot.
        standing: How pcietune is set up here; only status asks, and only of a live host.
        nothing_here: Whether the host has no GPU at all.
        protection: What is never touched here.
        audit: The findings; after apply, those of the second look.
        plan: What is to be written.
        applied: What was written.
        restoration: What was put back.
        bound: What VFIO has, and was given or gave back.
        kept: What was left for the udev hook.
        errors: What ended the run early.
        strict: Whether pending counts as a difference.
    """

    tells_channels: bool = False
    platform: Platform | None = None
    channels: Channels | None = None
    match: MatchResult | None = None
    mode: ModeName | None = None
    group_modes: Mapping[str, ModeName] = field(default_factory=dict)
    enforce: Enforce | None = None
    unattended: bool = False
    disabled: str | None = None
    guard: BootGuard | None = None
    standing: Standing | None = None
    nothing_here: bool = False
    protection: Protection | None = None
    audit: Audit | None = None
    plan: Plan | None = None
    applied: Applied | None = None
    restoration: Restoration | None = None
    bound: Bound | None = None
    kept: KeptPolicy | None = None
    errors: list[PcietuneError] = field(default_factory=list)
    strict: bool = False

    def exit_code(self) -> ExitCode:
        """Return the gravest exit code of all that the run met."""
        codes = [error.exit_code for error in self.errors]
        if self.audit is not None:
            codes.append(self.audit.exit_code(strict=self.strict))
        if self.applied is not None:
            codes.append(self.applied.exit_code())
        if self.restoration is not None:
            codes.append(self.restoration.exit_code())
        if self.bound is not None:
            codes.append(self.bound.exit_code())
        return ExitCode.of_several(codes)

    def plan_exit_code(self) -> ExitCode:
        """Return the exit code of a plan: whether there is something to write, or to read first."""
        codes = [error.exit_code for error in self.errors]
        if self.audit is not None:
            codes += [f.code for f in self.audit.findings if f.state is State.ERROR]
        plan = self.plan
        if plan is not None and (plan.steps or plan.deferred or plan.refused):
            codes.append(ExitCode.DIFFERS)
        return ExitCode.of_several(codes)

    def vfio_exit_code(self) -> ExitCode:
        """Return the exit code of what was bound or taken back, whatever else differs."""
        codes = [error.exit_code for error in self.errors]
        if self.bound is not None:
            codes.append(self.bound.exit_code())
        return ExitCode.of_several(codes)

    def status_exit_code(self) -> ExitCode:
        """Return the exit code of a status, which tells and does not judge."""
        return ExitCode.of_several([error.exit_code for error in self.errors])

    @property
    def writes_unattended(self) -> bool:
        """Whether what nobody typed may write here: the boot unit, the udev hook, watch."""
        held = self.guard is not None and self.guard.why_held is not None
        return self.enforce is Enforce.APPLY and not held

    @property
    def only_judges(self) -> bool:
        """Whether this run writes to no device, being unattended where that may not write."""
        return self.unattended and not self.writes_unattended

    @property
    def changed(self) -> bool:
        """Whether a register, an attribute or a driver differs now because of this run."""
        if self.restoration is not None and self.restoration.restored:
            return True
        if self.bound is not None and self.bound.changed:
            return True
        return self.applied is not None and bool(
            self.applied.kept or any(done.healed for done in self.applied.switched)
        )

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        """Steps of the plan that are not taken, and those that could not be."""
        if self.plan is None:
            return ()
        return (*self.plan.held, *(() if self.applied is None else self.applied.held))

    @property
    def beyond_writing(self) -> list[Finding]:
        """Findings that fail and count, and that no step of the plan is or was about."""
        if self.plan is None:
            return []
        steps = [held.planned for held in self.held_back]
        if self.applied is None:  # what apply did is no finding any more, or failed
            steps += self.plan.steps
        told = {(step.function.location, name) for step in steps for name in step.finding_ids}
        return [f for f in self._failing() if (f.subject.path, f.id) not in told]

    def remedies(self) -> list[Remedy]:
        """Return the remedies of the findings that fail and count."""
        return [f.remedy for f in self._failing() if f.remedy is not None]

    def _failing(self) -> list[Finding]:
        return [
            finding
            for finding in (() if self.audit is None else self.audit.findings)
            if finding.state is State.FAIL and finding.severity is not Severity.INFO
        ]
