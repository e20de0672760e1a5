"""pcietune whose nth system call of a kind fails: strace makes the kernel answer for it.

Nothing of pcietune knows of it. A signal strikes before the call, which then is not made.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CHECKOUT = Path(__file__).parents[2]
_CALL = re.compile(
    r'(?P<name>\w+)\((?:AT_FDCWD(?:<[^>]*>)?, )?(?:\d+<(?P<fd>[^>]*)>|"(?P<path>[^"]*)")'
)


@dataclass(frozen=True)
class Call:
    """One system call.

    Attributes:
        name: As the kernel has it.
        number: Which of this name in the run, from 1.
        path: Of the file that it is about.
    """

    name: str
    number: int
    path: str


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        code: Its exit code; negative for a signal.
        output: Its stdout and stderr.
    """

    code: int
    output: str


class Struck:
    """Runs pcietune in forks of one process."""

    def __init__(self, server: subprocess.Popen[str], directory: Path) -> None:
        self._server = server
        self._directory = directory

    def run(self, *arguments: str | Path, strace: tuple[str, ...] = ()) -> Ended:
        """Run one command, under strace if there are options for that."""
        out = self._directory / "out"
        self._tell([str(out), bool(strace), [str(argument) for argument in arguments]])
        process = int(self._answer())
        tracer = None
        if strace:
            command = ["strace", "-p", str(process), *strace]
            tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            assert tracer.stderr is not None
            attached = tracer.stderr.readline()
            assert "attached" in attached, attached
            os.kill(process, signal.SIGUSR1)
        code = int(self._answer())
        if tracer is not None:
            tracer.communicate(timeout=60)
        return Ended(code, out.read_text(errors="replace"))

    def calls(self, root: Path, kinds: str, *arguments: str | Path) -> list[Call]:
        """Return the calls of these kinds that a command makes for files below ``root``."""
        trace = self._directory / "trace"
        self.run(*arguments, strace=("-y", "-e", f"trace={kinds}", "-o", str(trace)))
        counts: dict[str, int] = {}
        found = []
        for line in trace.read_text(errors="replace").splitlines():
            call = _CALL.match(line)
            if call is None:
                continue
            name, path = call["name"], call["fd"] or call["path"]
            counts[name] = counts.get(name, 0) + 1
            if path.startswith(f"{root}/"):
                found.append(Call(name, counts[name], path.removeprefix(f"{root}/")))
        return found

    def strike(self, call: Call, how: str, *arguments: str | Path) -> Ended:
        """Run a command whose call fails: ``error=EIO``, ``retval=0``, ``signal=KILL``."""
        inject = f"inject={call.name}:{how}:when={call.number}"
        return self.run(
            *arguments, strace=("-e", f"trace={call.name}", "-e", inject, "-o", "/dev/null")
        )

    def _tell(self, job: list[str | bool | list[str]]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(f"{json.dumps(job)}\n")
        self._server.stdin.flush()

    def _answer(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline()


@contextmanager
def struck(directory: Path) -> Iterator[Struck]:
    """Yield what runs pcietune; ``directory`` is for its notes."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forks.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
    )
    try:
        yield Struck(server, directory)
    finally:
        server.communicate()
