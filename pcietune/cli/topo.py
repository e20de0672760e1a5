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
    from pcietune.cli.looking import look_over
    from pcietune.cli.progress import told
    from pcietune.errors import ExitCode
    from pcietune.host.source import open_host
    from pcietune.report.outcome import Outcome
    from pcietune.report.topology import plain_lines, topology_document, trees
    from pcietune.tune.view.topology import topology

    outcome = Outcome()
    with open_host(source) as host, told(host):
        fabric, roles = look_over(host, profile, outcome)
        why = {} if outcome.protection is None else outcome.protection.why
        nodes = topology(host, fabric, roles, everything=everything, protected=why)
    if as_json:
        show.document(topology_document(nodes))
    else:
        show.trees(trees(nodes), plain_lines(nodes))
    codes = [code for node in nodes for code in node.codes()]
    codes += [error.exit_code for error in outcome.errors]
    show.end(outcome.errors, ExitCode.of_several(codes))
