"""What is to be done so that one function's requests to another are direct, as values."""

from dataclasses import dataclass

from pcietune.model.finding import Remedy, RemedyKind
from pcietune.model.function import PciFunction
from pcietune.model.profile import AcsWant, ModeName
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
            requests are direct, or nothing makes them so, or that is not known.
        obstacle: Why nothing does, in half a sentence; None if the changes do, if the requests
            are direct already, or if that is not known.
        to_know: What must be known before anything can be named, in half a sentence; None if
            nothing must.
    """

    changes: tuple[Change, ...] = ()
    obstacle: str | None = None
    to_know: str | None = None


@dataclass(frozen=True, slots=True)
class Prospect:
    """What the requester could be.

    Attributes:
        sender: It, once nothing keeps it from having ATS.
        ats: What gives it the ATS that it lacks; None if nothing is known to.
        kept: Why redirection stays on whatever the duty, in half a sentence: something on its host
            is made for VMs; None if nothing is.
        duty: Its own mode; None if that is not known.
        redirects_off: What the kernel command line has for ``pci=disable_acs_redir=`` already;
            None if nothing.
    """

    sender: Sender
    ats: Remedy | None
    kept: str | None
    duty: ModeName | None
    redirects_off: str | None = None
