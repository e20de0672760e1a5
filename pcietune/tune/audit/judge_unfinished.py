"""Tell of changes that a run of apply began and did not finish."""

from pcietune.errors import NotPermittedError
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity
from pcietune.model.undo import UndoRecord

UNFINISHED = "apply.unfinished"

_ALL_ENDED = Value("every change finished or undone")


def judge_unfinished(
    record: UndoRecord | NotPermittedError | None, mode: ModeName
) -> list[Finding]:
    """Tell of changes whose run did not say how they ended: the registers say how far it came."""
    if isinstance(record, NotPermittedError):
        return [Finding.unread(UNFINISHED, HOST, _ALL_ENDED, record)]
    if record is None:
        return []
    groups = sorted({entry.group for entry in record.unfinished})
    return [
        Finding(
            UNFINISHED,
            Subject(group) if group else HOST,
            Severity.WARNING,
            State.FAIL,
            Value(f"{sum(e.group == group for e in record.unfinished)} changes begun"),
            _ALL_ENDED,
            "an apply is at work here, or was killed, or could not undo what it had begun",
            Remedy(
                RemedyKind.REGISTER,
                f"pcietune apply --mode {mode} finishes it, pcietune restore undoes it",
            ),
        )
        for group in groups
    ]
