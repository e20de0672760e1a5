"""What came of checking a VM against its plan."""

from dataclasses import dataclass

from pcietune.errors import ExitCode
from pcietune.guest.check.row import Row, Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """All that was compared.

    Attributes:
        name: The VM's.
        rows: What decides first: what is there and where, then what depends on it.
        notes: What is worth knowing, and no difference.
        unseen: A sentence on each function that the VM has, and of which nothing can be told.
    """

    name: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    unseen: tuple[str, ...] = ()

    def of(self, verdict: Verdict) -> list[Row]:
        """Return the rows of one verdict, in order."""
        return [row for row in self.rows if row.verdict is verdict]

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with: OK only if all is known, and as planned."""
        codes = [ExitCode.DIFFERS] if self.of(Verdict.DIFFERS) else []
        codes += [ExitCode.UNREADABLE] if self.unseen else []
        codes += [
            ExitCode.UNREADABLE if row.error is None else row.error.exit_code
            for row in self.of(Verdict.NOT_KNOWN)
        ]
        return ExitCode.of_several(codes)
