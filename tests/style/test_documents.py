"""What README and CONTRIBUTING tell a reader to type or to open is there."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]


def test_the_readmes_first_command_installs_all_that_make_needs() -> None:
    commands = re.findall(r"^[ $#]*(apt-get .*|make .*)$", _text("README.md"), re.MULTILINE)

    assert commands[0] == "apt-get install -y make git python3-venv"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_exists(document: str) -> None:
    targets = re.findall(r"^([a-z-]+):", _text("Makefile"), re.MULTILINE)
    named = re.findall(r"(?:`|^[ $#]*)make ([a-z-]+)", _text(document), re.MULTILINE)

    assert named
    assert set(named) <= set(targets)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_that_a_document_names_exists(document: str) -> None:
    top = "|".join(re.escape(path.name) for path in CHECKOUT.iterdir() if path.name != ".git")
    named = re.findall(rf"[`(]((?:{top})(?:/[\w.-]+)*/?)[`)]", _text(document))

    assert [path for path in named if not (CHECKOUT / path).exists()] == []


def _text(name: str) -> str:
    return (CHECKOUT / name).read_text()
