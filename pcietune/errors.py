"""Every failure that pcietune tells its user about, and the exit code of each.

* PcietuneError
  - BadInputError           an address, profile, setting or archive that cannot be used
  - NotPermittedError       the kernel refused, or pcietune itself must refuse, an access
  - ConfigSpaceError        a function's Configuration Space is absent, short or malformed
  - IgnoredWriteError       a write was accepted, but the register reads otherwise
  - RolledBackError         a switch group's change failed; the group is as it was found
  - InconsistentHostError   a change failed, and so did undoing an earlier one
  - NoProfileError          GPUs here, but no profile matches them, or two do
  - InUseError              a function that came into use between plan and write
  - LockedError             another pcietune is at work on this host
  - SwitchedOffError        pcietune is switched off on this host
"""

import enum


class ExitCode(enum.IntEnum):
    """Exit codes of the command line.

    1 and 2 belong to Python, Typer and Click (a crash, a broken pipe, bad usage), so pcietune's
    own meanings start at 3: a script can tell "the host differs" from "the tool broke".
    """

    OK = 0
    DIFFERS = 3
    BAD_INPUT = 4
    NOT_PERMITTED = 5
    UNREADABLE = 6
    ROLLED_BACK = 7
    INCONSISTENT = 8
    NO_PROFILE = 9
    LOCKED = 10
    SWITCHED_OFF = 11
    INTERRUPTED = 130

    @classmethod
    def of_several(cls, codes: "list[ExitCode]") -> "ExitCode":
        """Return the gravest of ``codes``; OK when there is none."""
        return next((code for code in _GRAVEST_FIRST if code in codes), cls.OK)


_LONGEST_QUOTED = 60  # characters; ids of findings, locations and names of profiles have fewer

_GRAVEST_FIRST = (
    ExitCode.INCONSISTENT,
    ExitCode.ROLLED_BACK,
    ExitCode.INTERRUPTED,
    ExitCode.NOT_PERMITTED,
    ExitCode.LOCKED,
    ExitCode.SWITCHED_OFF,
    ExitCode.BAD_INPUT,
    ExitCode.NO_PROFILE,
    ExitCode.DIFFERS,
    ExitCode.UNREADABLE,
)


def quoted(typed: str) -> str:
    """Return what somebody typed for a message: printable, and cut where it is very long."""
    return repr(typed if len(typed) <= _LONGEST_QUOTED else f"{typed[:_LONGEST_QUOTED]}...")


class PcietuneError(Exception):
    """A failure that the user can act on.

    Attributes:
        exit_code: What the process exits with when nothing handles the error.
        hint: One sentence on what to try next, or the empty string.
    """

    exit_code: ExitCode

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class BadInputError(PcietuneError):
    """An address, profile, setting, record or archive that cannot be used."""

    exit_code = ExitCode.BAD_INPUT


class NotPermittedError(PcietuneError):
    """An access that the kernel refused, or that pcietune must refuse to make."""

    exit_code = ExitCode.NOT_PERMITTED


class ConfigSpaceError(PcietuneError):
    """A function whose Configuration Space is absent, short or malformed."""

    exit_code = ExitCode.UNREADABLE


class IgnoredWriteError(PcietuneError):
    """A write that was accepted, though the register then reads otherwise."""

    exit_code = ExitCode.ROLLED_BACK


class RolledBackError(PcietuneError):
    """A change to a switch group that failed; the group is as it was found."""

    exit_code = ExitCode.ROLLED_BACK


class InconsistentHostError(PcietuneError):
    """A change that failed, and so did undoing an earlier one."""

    exit_code = ExitCode.INCONSISTENT


class NoProfileError(PcietuneError):
    """GPUs that no profile matches, or that two match equally."""

    exit_code = ExitCode.NO_PROFILE


class InUseError(PcietuneError):
    """A function that came into use between plan and write, so that its write must wait."""

    exit_code = ExitCode.DIFFERS


class LockedError(PcietuneError):
    """Another pcietune at work on the same host."""

    exit_code = ExitCode.LOCKED


class SwitchedOffError(PcietuneError):
    """A command that writes, on a host where pcietune is switched off."""

    exit_code = ExitCode.SWITCHED_OFF
