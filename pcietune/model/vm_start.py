"""What stands against a VM's start."""

from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.finding import Finding
from pcietune.model.function import PciFunction
from pcietune.model.settings import VmStart
from pcietune.model.severity import Severity


@dataclass(frozen=True, slots=True)
class BeforeStart:
    """A VM's functions, judged.

    Attributes:
        functions: What the VM is given; empty if it has nothing of the host's.
        against: Errors and warnings that fail, or could not be read, and concern one of them.
        errors: What kept them from being judged.
        policy: What the site says.
        disabled: Why pcietune is switched off here; None if it is not.
    """

    functions: Sequence[PciFunction]
    against: Sequence[Finding]
    errors: Sequence[PcietuneError]
    policy: VmStart
    disabled: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """What stands against the start, whatever the site says; warnings do not."""
        codes = [error.exit_code for error in self.errors]
        codes += [f.exit_code(strict=False) for f in self.against if f.severity is Severity.ERROR]
        return ExitCode.of_several(codes)

    @property
    def refuses(self) -> bool:
        """Whether the VM is not to start."""
        return self.policy is VmStart.REFUSE and self.exit_code is not ExitCode.OK
