"""``pcietune record``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption


def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write.")],
    source: FromOption = None,
) -> None:
    """Write a host archive: all that pcietune reads, and nothing personal.

    Every reading command takes it with --from. Serial numbers and VPD are zeroed, there is no
    MAC address in it, and functions in D3cold are not woken. Example:

    `pcietune record host.tar`
    """
    from pcietune.cli import show
    from pcietune.host.recording import record as write_archive
    from pcietune.host.source import open_host

    with open_host(source) as host:
        write_archive(host, file)
    show.lines([f"recorded {len(host.functions())} functions in {file}"])
