"""One fact of a host, that can be laid beside the same fact of another host."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.not_known import NotKnown


class Kind(StrEnum):
    """What facts are about, as ``--only`` takes it."""

    FIRMWARE = "firmware"
    KERNEL = "kernel"
    COMMAND_LINE = "command-line"
    IOMMU = "iommu"
    FUNCTION = "function"
    LINK = "link"
    NUMA = "numa"
    DRIVER = "driver"
    GROUP = "group"
    ACS = "acs"
    ATS = "ats"
    DEVICE_CONTROL = "device-control"
    SRIOV = "sriov"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. Where only one host has a fact of its kind and name, it is not compared.

    Attributes:
        kind: What it is about.
        name: Which of its subject's facts it is.
        value: For people, and to be compared; None if there is none of what it is about,
            NOT_KNOWN if the source does not tell.
    """

    kind: Kind
    name: str
    value: str | NotKnown | None


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that two hosts have with different values; of neither is it not known."""

    kind: Kind
    name: str
    before: str | None
    after: str | None

    @property
    def text(self) -> str:
        """Both values, with the name before them unless they say it themselves."""
        both = f"{self.before or 'none'} -> {self.after or 'none'}"
        named = both.startswith(self.name) or f" -> {self.name}" in both
        return both if named else f"{self.name}: {both}"


@dataclass(frozen=True, slots=True)
class Untold:
    """A fact that could not be compared, since one host's source does not tell it, or neither's.

    Attributes:
        kind: What it is about.
        name: Which it is.
        by_before: Whether that before does not tell.
        by_after: Alike.
    """

    kind: Kind
    name: str
    by_before: bool
    by_after: bool


def lay_beside(before: Iterable[Fact], after: Iterable[Fact]) -> Iterator[Change | Untold]:
    """Yield what differs between the facts of one subject, in the order of those before."""
    others = {(fact.kind, fact.name): fact.value for fact in after}
    for fact in before:
        key = (fact.kind, fact.name)
        if key not in others:
            continue
        one, other = fact.value, others[key]
        if isinstance(one, NotKnown) or isinstance(other, NotKnown):
            untold = (isinstance(one, NotKnown), isinstance(other, NotKnown))
            yield Untold(fact.kind, fact.name, *untold)
        elif one != other:
            yield Change(fact.kind, fact.name, one, other)
