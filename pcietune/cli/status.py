"""``pcietune status``."""

from pcietune.cli.options import FromOption, JsonOption, ModeOption, ProfileOption


def status(
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Say what this host is, how it is judged, and what to do next.

    The first command on a new host: it reads little, writes nothing, and needs no mode. Exits 0
    whatever is found, if only the host can be looked at.

    `pcietune status`
    """
    from pcietune.cli.judging import Request, collecting, decided, describe, judge_by, recognise
    from pcietune.cli.progress import told
    from pcietune.cli.report import print_outcome
    from pcietune.cli.standing import standing_of
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report import next_step, text
    from pcietune.report.outcome import Outcome
    from pcietune.report.standing import standing
    from pcietune.tune.match.protect import protect
    from pcietune.tune.match.roles import assign_roles

    outcome = Outcome(tells_channels=True)
    request = Request(profile, None if mode is None else ModeName(mode))
    with collecting(outcome), open_host(source) as host, told(host):
        describe(host, outcome)
        outcome.standing = standing_of(host)
        settings = decided(host, outcome, request.mode)
        fabric = recognise(host, request, settings, outcome)
        if outcome.match is not None:
            described = outcome.match.profile
            roles = assign_roles(described, fabric, host)
            outcome.protection = protect(host, fabric, roles, settings.protect)
            if outcome.mode is not None:
                outcome.audit = judge_by(host, fabric, described, settings)
    print_outcome(
        outcome,
        outcome.status_exit_code(),
        as_json=as_json,
        sections=(
            text.heading(outcome),
            text.status(outcome),
            standing(outcome),
            next_step.lines(outcome),
        ),
    )
