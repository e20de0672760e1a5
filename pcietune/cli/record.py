"""``pcietune record``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption


def record(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", readable=False, help="The archive to write.")
    ],
    source: FromOption = None,
    *,
    nvidia: Annotated[
        bool,
        typer.Option(
            "--nvidia", help="First learn module ids and MIG from NVIDIA's driver, and keep them."
        ),
    ] = False,
) -> None:
    """Write a host archive: all that pcietune reads, and nothing personal.

    Every reading command takes it with --from. Serial numbers and VPD are zeroed, there is no
    MAC address in it, and functions in D3cold are not woken. Run it as root: others see only the
    first 64 bytes of each function; such an archive is written too, but exits 5.

    A VM on an NVSwitch machine can be planned only by module ids, which only NVIDIA's driver
    knows. With --nvidia it is asked by nvidia-smi, as long as it has GPUs, and what it says is kept
    in /var/lib/pcietune for the time when VFIO has them. Examples:

    `pcietune record host.tar`

    `pcietune record --nvidia host.tar`
    """
    from pcietune.cli import show
    from pcietune.cli.progress import told
    from pcietune.errors import ExitCode, NotPermittedError
    from pcietune.host.nvidia.learning import learn_and_keep
    from pcietune.host.recordings.recording import record as write_archive
    from pcietune.host.source import open_host
    from pcietune.report.nvidia import nvidia_lines

    with open_host(source) as host, told(host):
        if nvidia:
            show.lines(nvidia_lines(learn_and_keep(host), host.functions()))
        cut_short = write_archive(host, file)
        functions = len(host.functions())
    show.lines([f"recorded {functions} functions in {file}"])
    if cut_short:
        failure = NotPermittedError(
            f"{cut_short} of {functions} functions: only the first 64 bytes could be read, "
            "too little to judge them by",
            hint="record the host as root",
        )
        show.end([failure], ExitCode.NOT_PERMITTED)
