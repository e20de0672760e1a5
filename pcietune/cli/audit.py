"""``pcietune audit``."""

from pcietune.cli.options import (
    FromOption,
    JsonOption,
    ModeOption,
    PassesOption,
    ProfileOption,
    StrictOption,
)


def audit(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    strict: StrictOption = False,
    passes: PassesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what on this host is not as its profile wants it; exit 3 if anything is not.

    Reads, and writes nothing. Examples:

    `pcietune audit --mode vm`

    `pcietune audit --from host.tar --mode vm --json`
    """
    from pcietune.cli.judging import Request, collecting, judge
    from pcietune.cli.report import print_outcome
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report import text
    from pcietune.report.outcome import Outcome

    outcome = Outcome(strict=strict, tells_channels=as_json)
    with collecting(outcome), open_host(source) as host:
        judge(host, Request(profile, None if mode is None else ModeName(mode)), outcome)
    print_outcome(
        outcome,
        outcome.exit_code(),
        as_json=as_json,
        sections=(text.heading(outcome), text.findings(outcome, passes=passes)),
    )
