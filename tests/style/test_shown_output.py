"""The output that documents show is what the commands print."""

from pathlib import Path

import pytest
from style.console_blocks import CHECKOUT, DOCUMENTS, run, shown_in

SHOWING = [document for document in DOCUMENTS if shown_in(document.read_text())]


@pytest.mark.parametrize("document", SHOWING, ids=lambda document: document.name)
def test_the_commands_of_a_document_print_what_it_shows(document: Path, tmp_path: Path) -> None:
    shown = shown_in(document.read_text())

    printed = list(run(shown, tmp_path))

    assert printed == shown


def test_the_readme_and_the_pages_on_routes_and_vms_show_output() -> None:
    names = {"README.md", "docs/guest.md", "docs/routes.md", "docs/slow-gdr.md"}

    assert names <= {str(document.relative_to(CHECKOUT)) for document in SHOWING}
