"""What documents show of commands, run again: ``python -m style.console_blocks`` in tests.

A document's blocks of ```` ```console ```` hold commands after ``$ `` and what they print. They are
run in turn in one directory, which has the hosts that the documents look at. The command line above
writes anew what is printed.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
RECORDED = CHECKOUT / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"
"""The host that ships with pcietune."""
_HOSTS = {"a800.tar.gz": RECORDED} | {
    file.name: file for file in sorted((CHECKOUT / "docs" / "hosts").iterdir())
}
_BLOCK = re.compile(r"(?<=^```console\n)\$ (?:.*\n)+?(?=```$)", re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """A command, and what it is said to print, or prints."""

    command: str
    output: str

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.output}"


def shown_in(text: str) -> list[Shown]:
    """Return the commands that a document shows, in their order."""
    return [
        Shown(*command.groups())
        for block in _BLOCK.finditer(text)
        for command in _COMMAND.finditer(block[0])
    ]


def run(commands: Sequence[Shown], directory: Path) -> Iterator[Shown]:
    """Run commands in a directory, which gets the hosts, and yield them with what they print."""
    programs = directory / "bin"
    programs.mkdir()
    pcietune = programs / "pcietune"
    pcietune.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pcietune "$@"\n')
    pcietune.chmod(0o755)
    for name, file in _HOSTS.items():
        (directory / name).symlink_to(file)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    for shown in commands:
        done = subprocess.run(
            ["sh", "-c", shown.command],
            cwd=directory,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        yield Shown(shown.command, done.stdout)


def refreshed(text: str) -> str:
    """Return a document with what its commands print now."""
    with tempfile.TemporaryDirectory() as directory:
        printed = iter(list(run(shown_in(text), Path(directory))))
    return _BLOCK.sub(lambda block: _COMMAND.sub(lambda _: str(next(printed)), block[0]), text)


def main() -> None:
    """Write anew what the commands of all documents print."""
    for document in DOCUMENTS:
        text = document.read_text()
        fresh = refreshed(text)
        if fresh != text:
            document.write_text(fresh)


if __name__ == "__main__":
    main()
