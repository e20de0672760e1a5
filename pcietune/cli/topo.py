"""``pcietune topo``."""

from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, ProfileOption


def topo(
    profile: ProfileOption = None,
    source: FromOption = None,
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Show also functions that have no role and are not above one that has."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the fabric: ports, GPUs and NICs with link, NUMA node, driver, group, ACS and ATS.

    Reads, and writes nothing. Examples:

    `pcietune topo`

    `pcietune topo --all --json`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import Request, decided, describe, recognise
    from pcietune.cli.progress import told
    from pcietune.errors import ExitCode, NoProfileError
    from pcietune.host.source import open_host
    from pcietune.report.outcome import Outcome
    from pcietune.report.topology import plain_lines, topology_document, trees
    from pcietune.tune.match.roles import assign_roles
    from pcietune.tune.match.survey import survey
    from pcietune.tune.view.topology import topology

    outcome = Outcome()
    with open_host(source) as host, told(host):
        describe(host, outcome)
        settings = decided(host, outcome)
        try:
            recognise(host, Request(profile), settings, outcome)
        except NoProfileError as error:
            show.note(f"{error}: no roles are shown")
        fabric = survey(host, lambda functions: functions)
        roles = {} if outcome.match is None else assign_roles(outcome.match.profile, fabric, host)
        nodes = topology(host, fabric, roles, everything=everything)
    if as_json:
        show.document(topology_document(nodes))
    else:
        show.trees(trees(nodes), plain_lines(nodes))
    codes = [code for node in nodes for code in node.codes()]
    codes += [error.exit_code for error in outcome.errors]
    show.end(outcome.errors, ExitCode.of_several(codes))
