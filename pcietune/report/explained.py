"""What findings mean, as lines, as Markdown and as JSON."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap

import msgspec

from pcietune import __version__
from pcietune.model.explanation import Explanation
from pcietune.report.json_text import encode

_SCHEMA = 1
_WIDTH = 100  # characters of a line

_MARKDOWN = """\
# Findings

Every finding that pcietune makes, by its id. `pcietune explain ID` prints the same text.
"""


class ExplanationDocument(msgspec.Struct):
    """What one finding means."""

    id: str
    what: str
    why: str
    evidence: str
    remedy: str


class ExplanationsDocument(msgspec.Struct):
    """What findings mean."""

    schema: int
    pcietune: str
    explanations: list[ExplanationDocument]


def explanations_document(explanations: Iterable[Explanation]) -> str:
    """Return the explanations as one JSON document."""
    told = [
        ExplanationDocument(each.id, each.what, each.why, each.evidence, each.remedy)
        for each in explanations
    ]
    return encode(ExplanationsDocument(_SCHEMA, __version__, told))


def list_lines(explanations: Sequence[Explanation]) -> Iterable[str]:
    """Yield one line for each finding: its id, and what is judged."""
    width = max((len(each.id) for each in explanations), default=0)
    return (f"{each.id:{width}}  {each.what}" for each in explanations)


def lines(explanations: Iterable[Explanation]) -> Iterable[str]:
    """Yield all that there is to say; what findings have in common is said once."""
    for number, (alike, common) in enumerate(_together(explanations)):
        if number:
            yield ""
        for each in alike:
            yield each.id
            yield from wrap(each.what, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        yield from _wrapped("why", common.why)
        yield from _wrapped("evidence", common.evidence)
        yield from _wrapped("remedy", common.remedy)


def _wrapped(name: str, text: str) -> list[str]:
    """Return text with the name of it before its first line; no word is cut."""
    return wrap(
        text,
        _WIDTH,
        initial_indent=f"  {name:8}  ",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def markdown(explanations: Iterable[Explanation]) -> str:
    """Return the explanations as one Markdown document."""
    parts = [_MARKDOWN]
    for alike, common in _together(explanations):
        heading = ", ".join(f"`{each.id}`" for each in alike)
        whats = [each.what for each in alike]
        what = whats[0] if len(whats) == 1 else "\n".join(f"- {each}" for each in whats)
        parts.append(
            f"## {heading}\n\n{what}\n\n{common.why}\n\n"
            f"*Evidence:* {common.evidence}\n\n*Remedy:* {common.remedy}\n"
        )
    return "\n".join(parts)


def _together(
    explanations: Iterable[Explanation],
) -> Iterable[tuple[list[Explanation], Explanation]]:
    """Yield those that differ in id and what alone, and one of them for the rest."""

    def rest(each: Explanation) -> tuple[str, str, str]:
        return (each.why, each.evidence, each.remedy)

    first: dict[tuple[str, str, str], int] = {}
    for number, each in enumerate(known := list(explanations)):
        first.setdefault(rest(each), number)
    for _, alike in groupby(sorted(known, key=lambda each: first[rest(each)]), key=rest):
        group = list(alike)
        yield group, group[0]
