"""One thing that a plan says of its VM, and what the VM shows."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import PcietuneError


class Verdict(StrEnum):
    """How one compares with the other."""

    PASS = "pass"  # noqa: S105 -- no password
    DIFFERS = "differs"
    NOT_KNOWN = "not known"


class Aspect(StrEnum):
    """What of a subject is compared."""

    ADDRESS = "address"
    ID = "id"
    CLASS = "class"
    PORTS = "ports above"
    SWITCH = "switch"
    NODE = "NUMA node"
    LINK = "link"
    BARS = "BARs"
    ATS = "ATS capability"
    CLIQUE = "clique"
    NODES = "NUMA nodes"
    CPUS = "CPUs"
    MEMORY = "memory"
    UNPLANNED = "unplanned function"
    TOPOLOGY = "topology file"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of comparing.

    Attributes:
        subject: A name of the plan (``gpu0``, ``up0``), ``node 1``, ``VM``, or an address of a
            function that the plan has not.
        aspect: What of it is compared.
        verdict: How it compares.
        planned: What the plan says, in words; None if it says nothing.
        found: What the VM shows, in words; None if it shows nothing.
        why: What makes it so, and what to do; the same for all that one cause makes differ. Empty
            of what passes.
        error: What kept it from being known; None if nothing did.
    """

    subject: str
    aspect: Aspect
    verdict: Verdict
    planned: str | None
    found: str | None
    why: str = ""
    error: PcietuneError | None = None


def compared(subject: str, aspect: Aspect, planned: str, found: str | None, why: str = "") -> Row:
    """Return the row of two texts, which differ or do not; ``why`` is for those that do."""
    if planned == found:
        return Row(subject, aspect, Verdict.PASS, planned, found)
    return Row(subject, aspect, Verdict.DIFFERS, planned, found, why)


def not_known(
    subject: str, aspect: Aspect, planned: str, why: str, error: PcietuneError | None = None
) -> Row:
    """Return the row of what the VM does not show."""
    return Row(subject, aspect, Verdict.NOT_KNOWN, planned, None, why, error)
