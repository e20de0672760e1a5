"""Hosts opened from texts, and what is refused."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost


@contextmanager
def opened(directory: Path, *texts: str | bytes) -> Iterator[SysfsHost]:
    """Yield the host that the texts tell of, each in a file of its own: 1.txt, 2.txt ..."""
    with open_host(_written(directory, texts)) as host:
        yield host


def refused(directory: Path, *texts: str | bytes) -> str:
    """Return why the texts are refused, without the directory's name; it is said what to try."""
    with pytest.raises(BadInputError) as raised, open_host(_written(directory, texts)):
        pass
    assert raised.value.exit_code == ExitCode.BAD_INPUT
    assert raised.value.hint
    return str(raised.value).replace(f"{directory}/", "")


def printed(directory: Path, text: str, *arguments: str) -> str:
    """Return what lspci makes of a dump's bytes."""
    file = directory / "dump"
    file.write_text(text)
    command = ["lspci", "-D", *arguments, "-F", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _written(directory: Path, texts: tuple[str | bytes, ...]) -> list[Path]:
    files = [directory / f"{number}.txt" for number, _ in enumerate(texts, start=1)]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    return files
