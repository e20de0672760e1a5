"""``pcietune report``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption, ModeOption, ProfileOption


def report(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            allow_dash=True,
            readable=False,
            help="The HTML file to write, in place of one that is there; - is stdout.",
        ),
    ],
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
) -> None:
    """Write the host as one HTML file: boxes, routes, findings and groups.

    Choose two functions, and the way between them is lit. The file needs nothing else, fetches
    nothing, and can be printed. Without a mode (by option or setting) nothing is judged. Writes to
    no device; exits 0 whatever the findings are, and 5 or 6 if something could not be read. For
    example:

    `pcietune report host.html --mode vm`

    `pcietune report - --from host.tar >host.html`
    """
    from pcietune.cli import show
    from pcietune.cli.drawing_up import draw_up
    from pcietune.cli.following import Asked
    from pcietune.errors import ExitCode
    from pcietune.host.result_file import check_place, result_file
    from pcietune.model.profile import ModeName
    from pcietune.report.html.page import html_page

    to_stdout = file == Path("-")
    if not to_stdout:
        check_place(file)
    seen = draw_up(source, Asked(profile, None if mode is None else ModeName(mode)))
    page = html_page(seen)
    if to_stdout:
        show.document(page)
    else:
        with result_file(file) as written:
            written.write(page.encode())
        show.lines([f"wrote {file}"])
    problems = [*seen.outcome.errors, *seen.problems]
    show.end(problems, ExitCode.of_several([problem.exit_code for problem in problems]))
