"""``pcietune explain``."""

from typing import Annotated

import typer

from pcietune.cli.options import JsonOption


def explain(
    findings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID...]", help="Findings; an ID may be a pattern such as 'port.*.ReqRedir'."
        ),
    ] = None,
    *,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown instead of text.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a finding means: what is judged, why, by which evidence, and what mends it.

    Without an ID it lists all findings. Needs no host. Examples:

    `pcietune explain`

    `pcietune explain port.nic-side.DirectTrans`
    """
    from pcietune.cli import show
    from pcietune.cli.finding_ids import chosen
    from pcietune.host.explanation_files import shipped_explanations
    from pcietune.report import explained

    known = shipped_explanations()
    asked = [known[each] for each in chosen(findings or ["*"], list(known))]
    if as_json:
        show.document(explained.explanations_document(asked))
    elif as_markdown:
        show.document(explained.markdown(asked))
    else:
        show.lines(explained.lines(asked) if findings else explained.list_lines(asked))
