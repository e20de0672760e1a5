"""What was seen of a function's ATS after a VM had opened it."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.function import PciFunction


class Sight(StrEnum):
    """What was seen of a function's ATS."""

    ON = "Enable+"
    OFF = "Enable-"
    NO_CAPABILITY = "not_applicable"
    NOT_OPEN = "not_open"
    UNREADABLE = "unreadable"


_EXIT_CODES = {
    Sight.ON: ExitCode.OK,
    Sight.NO_CAPABILITY: ExitCode.OK,
    Sight.OFF: ExitCode.DIFFERS,
    Sight.NOT_OPEN: ExitCode.DIFFERS,
}


@dataclass(frozen=True, slots=True)
class AtsSeen:
    """One function that was looked at.

    Attributes:
        function: The function.
        sight: What was seen.
        control: ATS Control, 16 bits, as it read then; None if it was not read.
        error: Why it could not be read; None if it could.
    """

    function: PciFunction
    sight: Sight
    control: int | None = None
    error: PcietuneError | None = None

    @property
    def exit_code(self) -> ExitCode:
        """What it means for the run."""
        if self.error is not None:
            return self.error.exit_code
        return _EXIT_CODES.get(self.sight, ExitCode.UNREADABLE)
