"""Findings: wanted facts, judged."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, PcietuneError
from pcietune.model.function import PciFunction
from pcietune.model.location import location_order
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity


class State(StrEnum):
    """How a wanted fact was found."""

    PASS = "pass"  # noqa: S105 -- no password
    FAIL = "fail"
    PENDING = "pending"  # comes when the gate binds a function, or VFIO attaches it
    ERROR = "error"  # could not be read
    SKIP = "skip"  # waived or not asked
    NOT_APPLICABLE = "not_applicable"


class RemedyKind(StrEnum):
    """Where a remedy works."""

    REGISTER = "register"
    KERNEL_ARGS = "kernel-args"
    FIRMWARE = "firmware"
    BIOS = "bios"
    HARDWARE = "hardware"
    SOFTWARE = "software"


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about a finding.

    Attributes:
        kind: Where it works.
        command: What to run, or one sentence where no command does it.
        power_cycle: Whether the host must be without power for it.
    """

    kind: RemedyKind
    command: str
    power_cycle: bool = False

    @property
    def reboot(self) -> bool:
        """Whether it works only from the next boot on."""
        return self.kind in (RemedyKind.KERNEL_ARGS, RemedyKind.FIRMWARE, RemedyKind.BIOS)


@dataclass(frozen=True, slots=True)
class Value:
    """Something found or wanted.

    Attributes:
        text: For people.
        value: For programs: hex with the register's width, a number, a word; None if not known.
        bits: A register's controls in lspci's spelling (``DirectTrans+``); None if it is none.
    """

    text: str
    value: str | None = None
    bits: tuple[str, ...] | None = None


UNKNOWN = Value("not known")
"""What is found where nothing could be read."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about.

    Attributes:
        path: A function's location, an IOMMU unit's name, or ``host``.
        address: A function's address now; None if it is no function.
        id: A function's Vendor and Device ID; None if it is no function.
    """

    path: str
    address: PciAddress | None = None
    id: str | None = None

    @classmethod
    def of(cls, function: PciFunction) -> "Subject":
        """Return a function as a subject."""
        return cls(function.location, function.address, function.id)

    def is_named(self, name: str) -> bool:
        """Return whether ``name`` is its path or its address; a missing domain means 0."""
        if name == self.path or self.address is None:
            return name == self.path
        try:
            return PciAddress.parse(name) == self.address
        except BadInputError:
            return False


HOST = Subject("host")


@dataclass(frozen=True, slots=True)
class Finding:
    """One wanted fact, judged.

    Attributes:
        id: Stable name: ``port.nic-side.DirectTrans``.
        subject: What it is about.
        severity: How much it matters if it fails.
        state: How it was found.
        found: What is there.
        wanted: What should be.
        reason: Why it is judged so, in one sentence.
        remedy: What to do; None where nothing is to be done.
        code: For state ERROR, the exit code that the failed reading has by itself.
        waiver: Why the site does not ask for it; None where it is asked for.
    """

    id: str
    subject: Subject
    severity: Severity
    state: State
    found: Value
    wanted: Value
    reason: str
    remedy: Remedy | None = None
    code: ExitCode = ExitCode.OK
    waiver: Waiver | None = None

    @classmethod
    def unread(
        cls,
        finding_id: str,
        subject: Subject,
        wanted: Value,
        error: PcietuneError,
        severity: Severity = Severity.ERROR,
    ) -> "Finding":
        """Return the finding about something that could not be read, which is never a pass."""
        return cls(
            id=finding_id,
            subject=subject,
            severity=severity,
            state=State.ERROR,
            found=UNKNOWN,
            wanted=wanted,
            reason=str(error),
            remedy=Remedy(RemedyKind.SOFTWARE, error.hint) if error.hint else None,
            code=error.exit_code,
        )

    @property
    def order(self) -> tuple[tuple[int, str], str]:
        """By location, then id."""
        return (location_order(self.subject.path), self.id)

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return the exit code that this finding alone asks for; information asks for none."""
        if self.severity is Severity.INFO:
            return ExitCode.OK
        if self.state is State.ERROR:
            return self.code
        differs = self.state is State.FAIL or (strict and self.state is State.PENDING)
        return ExitCode.DIFFERS if differs else ExitCode.OK
