"""The command line, run in this process as its users run it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import pytest
from report.valid_json import broken

from pcietune.cli.app import run
from pcietune.host.explanation_files import shipped_explanations
from pcietune.report.document import Document, FindingDocument


@cache
def _explained() -> frozenset[str]:
    return frozenset(shipped_explanations())


@dataclass(frozen=True)
class Run:
    """What one command printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str

    def document(self) -> Document:
        """Return the one JSON document on stdout: valid, and of findings that are explained."""
        assert broken(self.stdout) == []
        document = msgspec.json.decode(self.stdout, type=Document)
        assert {finding.id for finding in document.findings} <= _explained()
        return document

    def finding(self, finding_id: str, subject: str) -> FindingDocument:
        """Return the document's only finding of this id about this address or path."""
        (found,) = (
            finding
            for finding in self.document().findings
            if finding.id == finding_id
            and subject in (finding.subject.address, finding.subject.path)
        )
        return found

    def failing(self) -> set[tuple[str, str]]:
        """Return id and subject of every finding that fails and is more than information."""
        return {
            (finding.id, finding.subject.address or finding.subject.path)
            for finding in self.document().findings
            if finding.state == "fail" and finding.severity != "info"
        }


class Pcietune:
    """Runs ``pcietune`` with the arguments given."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Run:
        """Run one command."""
        self._capture.readouterr()
        exit_code = run([str(argument) for argument in arguments])
        printed = self._capture.readouterr()
        return Run(exit_code, printed.out, printed.err)
