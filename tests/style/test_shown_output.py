"""The output that documents show is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
RECORDED_HOST = CHECKOUT / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"
_BLOCK = re.compile(r"```console\n\$ pcietune (.+)\n((?:.*\n)+?)```")
SHOWN = [
    pytest.param(*block.groups(), id=f"{document.name}: {block[1]}")
    for document in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
    for block in _BLOCK.finditer(document.read_text())
]


@pytest.mark.parametrize(("arguments", "output"), SHOWN)
def test_a_shown_command_prints_what_is_shown(arguments: str, output: str) -> None:
    words = [str(RECORDED_HOST) if word == "a800.tar.gz" else word for word in arguments.split()]

    run = subprocess.run(
        [sys.executable, "-m", "pcietune", *words], check=False, capture_output=True, text=True
    )

    assert run.stdout == output


def test_the_readme_shows_output() -> None:
    assert SHOWN
