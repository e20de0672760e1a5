"""``pcietune groups``."""

from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, ProfileOption


def groups(
    profile: ProfileOption = None,
    source: FromOption = None,
    *,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Show also groups without a GPU, NIC or NVSwitch."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show IOMMU groups: members, drivers, whether VFIO takes them, and whether they are apart.

    Where no profile matches, all groups are shown. Reads, and writes nothing; exits 0 whatever the
    groups are, and 6 if something could not be read. Examples:

    `pcietune groups`

    `pcietune groups --all --json`
    """
    from pcietune.cli import show
    from pcietune.cli.looking import look_over
    from pcietune.cli.progress import told
    from pcietune.errors import ExitCode
    from pcietune.host.source import open_host
    from pcietune.report.groups import groups_document, groups_lines
    from pcietune.report.outcome import Outcome
    from pcietune.tune.view.group_warnings import group_warnings
    from pcietune.tune.view.groups import view_groups

    outcome = Outcome()
    with open_host(source) as host, told(host):
        fabric, roles = look_over(host, profile, outcome)
        complete = host.files.complete
        view = view_groups(host, fabric, roles, everything=everything, complete=complete)
        warnings = group_warnings(host)
    if as_json:
        show.document(groups_document(view, warnings))
    else:
        show.lines(groups_lines(view, warnings))
    problems = [*outcome.errors, *view.problems]
    show.end(problems, ExitCode.of_several([problem.exit_code for problem in problems]))
