"""``pcietune diff``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import JsonOption, ModeOption, ProfileOption
from pcietune.tune.diff.fact import Kind

_LIVE = Path("live")


def diff(  # noqa: PLR0913 -- one parameter per option
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE",
            readable=False,
            help="A recorded host or a dump, as --from of other commands takes it; `live` is this"
            " machine.",
        ),
    ],
    after: Annotated[
        Path, typer.Argument(metavar="AFTER", readable=False, help="Another.")
    ] = _LIVE,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    only: Annotated[
        list[Kind] | None, typer.Option("--only", help="Compare only this; may be repeated.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Compare two hosts, or one before and after: what differs, where, and what it means.

    Functions are compared that are at the same place, whatever their bus numbers. Names of this
    boot, serial numbers and numbers of IOMMU groups do not count, nor does what one of the two
    does not tell. Exits 0 without a difference, 3 if something differs, 4 if one of the two cannot
    be used, and 5 or 6 if something could not be read. Examples:

    `pcietune diff before.tar after.tar`

    `pcietune diff golden.tar`

    `pcietune diff golden.tar suspect.tar --only acs --only route --json`
    """
    from pcietune.cli import comparing, show
    from pcietune.errors import ExitCode
    from pcietune.model.profile import ModeName
    from pcietune.report.diff_document import diff_document
    from pcietune.report.diff_text import Source, diff_lines
    from pcietune.tune.diff.compare import compare

    kinds = tuple(only or Kind)
    typed = None if mode is None else ModeName(mode)
    one, other = comparing.sides((before, after), comparing.Asked(profile, typed, kinds))
    found = compare(one, other, kinds)
    if as_json:
        show.document(diff_document(found, one, other, kinds))
    else:
        sources = (Source(str(before), one.platform), Source(str(after), other.platform))
        show.lines(diff_lines(found, *sources, kinds))
    codes = [ExitCode.DIFFERS] if found.differences else []
    for name, side in ((before, one), (after, other)):
        comparing.tell_problems(name, side)
        codes += [problem.exit_code for problem in side.problems]
    show.end((), ExitCode.of_several(codes))
