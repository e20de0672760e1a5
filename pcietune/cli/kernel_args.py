"""``pcietune kernel-args``."""

from enum import StrEnum
from typing import Annotated

import typer

from pcietune.cli.options import (
    DEFAULT_WAIT_S,
    FromOption,
    JsonOption,
    ModeOption,
    ProfileOption,
    WaitOption,
)


class Target(StrEnum):
    """What makes the command line, as typed."""

    GRUB = "grub"
    GRUBBY = "grubby"
    SYSTEMD_BOOT = "systemd-boot"
    CMDLINE_D = "cmdline.d"


def kernel_args(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="RELEASE", help="For this kernel release, not for the running kernel."
        ),
    ] = None,
    write: Annotated[
        Target | None, typer.Option("--write", help="Put the words where this one takes them.")
    ] = None,
    *,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take out, wherever it is, what --write put in.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Compare files, the kernel command line and the registers; exit 3 if one differs.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before writing.")] = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Print the words of the kernel command line that make the profile hold from boot on.

    What the site has on the command line is merged with them. `--write` shows a diff and asks
    first, keeps what was there beside the file, and runs no boot loader's own tool but grubby; it
    says what must run. Examples:

    `pcietune kernel-args --mode vm`

    `pcietune kernel-args --mode baremetal --write grub`

    `pcietune kernel-args --check`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import Request, collecting
    from pcietune.cli.kernel_args_steps import Steps, check_asked
    from pcietune.errors import ExitCode
    from pcietune.host.source import open_host
    from pcietune.model.boot_loader import LoaderName
    from pcietune.model.profile import ModeName
    from pcietune.report.kernel_args_document import kernel_args_document

    request = Request(profile, None if mode is None else ModeName(mode), writes=write is not None)
    target = None if write is None else LoaderName(write)
    steps = Steps(request, wait_s=wait, asks=not yes, tells=not as_json)
    with collecting(steps.outcome), open_host(source) as host:
        check_asked(host, release, target, undo=undo, check=check)
        if undo:
            steps.undo(host)
        else:
            steps.advise(host, release, in_full=not check and target is None)
            if check:
                steps.check(host)
            if target is not None:
                steps.write(host, target)
    if as_json and steps.done.advice is not None:
        show.document(kernel_args_document(steps.done, steps.done.advice))
    codes = [error.exit_code for error in steps.outcome.errors]
    show.end(steps.outcome.errors, ExitCode.of_several([*codes, *steps.done.exit_codes()]))
