"""Every finding that the code can make is explained, and nothing else is."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from pcietune.host.explanation_files import shipped_explanations
from pcietune.report.explained import markdown

CHECKOUT = Path(__file__).parents[2]
JUDGES = sorted((CHECKOUT / "pcietune" / "tune").rglob("*.py"))
_ID = re.compile(r"[a-z]+(\.[A-Za-z0-9*-]+)+")
_FILES = re.compile(r"[a-z0-9_]+\.(py|yaml|c)")


def _words(module: Path) -> Iterator[str]:
    """Yield the texts in a module's code, ``*`` in the place of what is filled in."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts
                )
            case _:
                pass


def made_ids() -> set[str]:
    """Return the ids of findings in the judges' code, as patterns where they are put together."""
    return {
        word
        for module in JUDGES
        for word in _words(module)
        if _ID.fullmatch(word) and not _FILES.fullmatch(word)
    }


def test_every_finding_that_a_judge_makes_is_explained() -> None:
    known = shipped_explanations()

    assert len(made_ids()) > 20
    assert [
        made for made in sorted(made_ids()) if not any(fnmatchcase(each, made) for each in known)
    ] == []


def test_nothing_is_explained_that_no_judge_makes() -> None:
    assert [
        each
        for each in shipped_explanations()
        if not any(fnmatchcase(each, made) for made in made_ids())
    ] == []


def test_the_document_of_findings_is_what_explain_says() -> None:
    document = CHECKOUT / "docs" / "findings.md"

    # make documents writes it anew
    assert document.read_text() == markdown(shipped_explanations().values())
