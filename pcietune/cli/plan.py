"""``pcietune plan``."""

from pcietune.cli.options import (
    ForceAtsOption,
    FromOption,
    JsonOption,
    ModeOption,
    ProfileOption,
    WhileInUseOption,
)


def plan(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    while_in_use: WhileInUseOption = False,
    force_ats: ForceAtsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the exact writes that apply would make; exit 3 if there are any.

    Reads, and writes nothing. Example:

    `pcietune plan --mode vm`
    """
    from pcietune.cli.judging import Request, collecting, judge
    from pcietune.cli.progress import told
    from pcietune.cli.report import print_outcome
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report import text, writes_text
    from pcietune.report.outcome import Outcome
    from pcietune.tune.change import plan as planning

    outcome = Outcome(tells_channels=as_json)
    with collecting(outcome), open_host(source) as host, told(host):
        judge(host, Request(profile, None if mode is None else ModeName(mode)), outcome)
        if outcome.audit is not None:
            outcome.plan = planning.plan(
                host, outcome.audit, while_in_use=while_in_use, force_ats=force_ats
            )
    print_outcome(
        outcome,
        outcome.plan_exit_code(),
        as_json=as_json,
        sections=(text.heading(outcome), writes_text.plan(outcome)),
    )
