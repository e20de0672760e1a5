"""``pcietune paths``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, ModeOption, ProfileOption


def paths(  # noqa: PLR0913 -- one parameter per option
    one: Annotated[
        str | None,
        typer.Argument(metavar="A", help="A GPU, NIC or NVMe drive: its address, or its label."),
    ] = None,
    other: Annotated[str | None, typer.Argument(metavar="B", help="Another.")] = None,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    vfs: Annotated[bool, typer.Option("--vfs", help="Show each virtual function by itself.")] = (
        False
    ),
    isolation: Annotated[
        bool,
        typer.Option(
            "--isolation",
            help="Show instead which functions reach each other without the IOMMU, by which port.",
        ),
    ] = False,
    measured: Annotated[
        Path | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            readable=False,  # whether it is, we say ourselves, with an exit code that tells it
            help="Compare with the way of two what ib_write_bw, nvbandwidth, all_reduce_perf or"
            " gdsio printed.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show where the packets between GPUs, NICs and NVMe drives go, why, and what would be better.

    Of one, all its pairs; of two, both directions port by port, with the one change that makes
    them direct. With a mode (by option or setting) also the routes once the profile holds. Reads,
    and writes nothing; exits 0 whatever the routes are, and 5 or 6 if some register could not be
    read. Examples:

    `pcietune paths --mode vm`

    `pcietune paths GPU0`

    `pcietune paths NIC0 GPU2`

    `pcietune paths 0000:25:00.0 0000:23:00.0 --json`

    `pcietune paths GPU0 GPU1 --measured all_reduce.txt`

    `lspci -D -nnvvv | pcietune paths --from /dev/stdin`

    `pcietune paths --isolation`
    """
    from pcietune.cli import showing_paths
    from pcietune.cli.following import Asked
    from pcietune.errors import BadInputError
    from pcietune.model.profile import ModeName

    asked = Asked(profile, None if mode is None else ModeName(mode), vfs)
    if measured is not None and (other is None or isolation or as_json):
        raise BadInputError(
            "--measured compares results with one pair, and tells so as text",
            hint="name two, without --json: pcietune paths NIC0 GPU0 --measured FILE",
        )
    if isolation:
        showing_paths.show_isolation(source, asked, (one, other), as_json=as_json)
    elif one is not None and other is None:
        showing_paths.show_peer(source, asked, one, as_json=as_json)
    elif one is not None and other is not None:
        showing_paths.show_pair(source, asked, (one, other), measured, as_json=as_json)
    else:
        showing_paths.show_all(source, asked, as_json=as_json)
