"""The explanations of all findings, which ship as one TOML file for each subject."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec

from pcietune.model.explanation import Explanation

_FOLDER = "explanations"


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One table of a file, as it is written."""

    what: str
    why: str
    evidence: str
    remedy: str


def shipped_explanations() -> dict[str, Explanation]:
    """Return the explanation of every finding that pcietune makes, by id and in their order."""
    folder = resources.files("pcietune").joinpath(_FOLDER)
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    found = [each for file in files for each in parse_explanations(file.read_text("utf-8"))]
    return {each.id: each for each in sorted(found, key=lambda each: each.id)}


def parse_explanations(text: str) -> Iterator[Explanation]:
    """Yield the explanations in a file.

    A table may be written once for many ids: ``{place}`` in its name and text stands for each key
    of the table ``{place}``, in the text for what that key says.
    """
    tables = tomllib.loads(text)
    words = {name: tables.pop(name) for name in list(tables) if name.startswith("{")}
    for name, table in tables.items():
        entry = msgspec.convert(table, _Entry)
        placeholder = next((each for each in words if each in name), None)
        if placeholder is None:
            yield _explanation(name, entry, {})
            continue
        for key, said in msgspec.convert(words[placeholder], dict[str, str]).items():
            yield _explanation(name.replace(placeholder, key), entry, {placeholder: said})


def _explanation(finding_id: str, entry: _Entry, words: Mapping[str, str]) -> Explanation:
    def told(text: str) -> str:
        for placeholder, said in words.items():
            text = text.replace(placeholder, said)
        return text

    return Explanation(
        finding_id, told(entry.what), told(entry.why), told(entry.evidence), told(entry.remedy)
    )
