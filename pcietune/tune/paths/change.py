"""What is to be done so that one function's requests to another are direct, as values."""

from dataclasses import dataclass

from pcietune.model.finding import Remedy, RemedyKind
from pcietune.model.function import PciFunction
from pcietune.model.profile import AcsWant
from pcietune.tune.paths.sender import Sender


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to be done.

    Attributes:
        kind: Where it works.
        text: What, in half a sentence.
        command: What to run, or how to do it.
        port: The port that it is about; None if it is about none.
        wants: The port's controls.
    """

    kind: RemedyKind
    text: str
    command: str
    port: PciFunction | None = None
    wants: tuple[AcsWant, ...] = ()


@dataclass(frozen=True, slots=True)
class Cure:
    """What makes one function's requests to another direct.

    Attributes:
        changes: All that is needed, what is to be done first at the beginning; empty if the
            requests are direct, or nothing makes them so.
        obstacle: Why nothing does, in half a sentence; None if the changes do, or if the requests
            are direct already.
    """

    changes: tuple[Change, ...] = ()
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class Prospect:
    """What the requester could be.

    Attributes:
        sender: It, once nothing keeps it from having ATS.
        ats: What gives it the ATS that it lacks; None if nothing is known to.
        may_clear: Whether redirection may be turned off on its way: never where VMs are served.
    """

    sender: Sender
    ats: Remedy | None
    may_clear: bool
