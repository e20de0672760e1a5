"""``pcietune apply``."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from pcietune.cli.options import (
    DEFAULT_WAIT_S,
    ForceAtsOption,
    FromOption,
    InPlaceOption,
    JsonOption,
    ModeOption,
    ProfileOption,
    ToOption,
    UnattendedOption,
    WaitOption,
    WhileInUseOption,
)

if TYPE_CHECKING:
    from pcietune.cli.judging import Request
    from pcietune.host.sysfs import SysfsHost
    from pcietune.model.plan import PlannedStep
    from pcietune.report.outcome import Outcome


def apply(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    to: ToOption = None,
    *,
    in_place: InPlaceOption = False,
    while_in_use: WhileInUseOption = False,
    force_ats: ForceAtsOption = False,
    unattended: UnattendedOption = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Set what the profile may set, read it back, and judge the host again.

    All of a switch group's writes are made or none, but for those that must wait because VFIO uses
    a function below. What was changed can be put back with `pcietune restore`. Exits 0 if the host
    is then as wanted, 3 if something is left that no write can mend. Examples:

    `pcietune apply --mode vm`

    `pcietune apply --mode vm --from host.tar --to tuned.tar`
    """
    from pcietune.cli.gating import pass_gate
    from pcietune.cli.judging import Request, collecting
    from pcietune.cli.keeping import leave_policy
    from pcietune.cli.report import print_outcome
    from pcietune.cli.writing import writable_host
    from pcietune.model.profile import ModeName
    from pcietune.report import binding, findings_text, text, writes_text
    from pcietune.report.outcome import Outcome

    outcome = Outcome(tells_channels=as_json, unattended=unattended)
    request = Request(
        profile,
        None if mode is None else ModeName(mode),
        writes=True,
        while_in_use=while_in_use,
        force_ats=force_ats,
    )
    with ExitStack() as until_it_is_told:
        with (
            collecting(outcome),
            writable_host(source, to, in_place=in_place, command="apply", wait_s=wait) as host,
        ):
            _apply(host, request, outcome, until_it_is_told)
            if outcome.audit is not None and outcome.disabled is None:
                outcome.kept = leave_policy(
                    host,
                    outcome.audit,
                    enforce=outcome.writes_unattended,
                    unattended=unattended,
                )
                pass_gate(host, outcome, until_it_is_told)
        print_outcome(
            outcome,
            outcome.exit_code(),
            as_json=as_json,
            sections=(
                text.heading(outcome),
                writes_text.applied(outcome),
                binding.gate(outcome),
                findings_text.findings(outcome, passes=False),
            ),
        )


def _apply(
    host: "SysfsHost",
    request: "Request",
    outcome: "Outcome",
    until_it_is_told: ExitStack,
) -> None:
    """Judge, plan and write; from the first write on a signal ends nothing before it is told."""
    from pcietune.cli.changing import Changing
    from pcietune.cli.interrupts import held_back
    from pcietune.cli.judging import judge
    from pcietune.cli.progress import told
    from pcietune.errors import NotPermittedError
    from pcietune.tune.change.apply import Applied
    from pcietune.tune.change.channels import check_ways
    from pcietune.tune.change.plan import plan

    with told(host):
        judge(host, request, outcome)
    if outcome.audit is None or outcome.disabled is not None or outcome.only_judges:
        return
    outcome.plan = plan(
        host, outcome.audit, while_in_use=request.while_in_use, force_ats=request.force_ats
    )
    outcome.applied = Applied()
    changing = Changing(host, outcome.audit, outcome.plan)
    if not changing.needed:
        return
    try:
        check_ways(host, outcome.plan)
    except NotPermittedError as error:  # what is as wanted by itself still passes the gate
        outcome.errors.append(error)
        return
    interrupts = until_it_is_told.enter_context(held_back())
    changing.carry_out(outcome, stop=interrupts.asked, progress=_show_progress)


def _show_progress(planned: "PlannedStep") -> None:
    """Name the write on a terminal's stderr, where it may take long or hang."""
    from pcietune.cli import show

    show.progress(f"{planned.function.address}: {' '.join(planned.wants)}")
