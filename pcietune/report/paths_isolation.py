"""Who reaches whom without the IOMMU, for people and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from pcietune import __version__
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown
from pcietune.model.settings import Tenancy
from pcietune.report.class_names import class_name
from pcietune.report.isolation_summary import summary_line, untranslated, untranslated_lines
from pcietune.report.json_text import encode
from pcietune.tune.paths.isolation import Isolation
from pcietune.tune.paths.ownership import Claim, Owner
from pcietune.tune.paths.reach import Reach

SCHEMA = 1

_APART_BY = {
    Claim.VMS: "these are different VMs'",
    Claim.GROUPS: "their IOMMU groups say that they are apart",
    Claim.NOT_KNOWN: "whether they may go to different VMs is not known",
}
_TENANCY = {
    Tenancy.SINGLE: "all of them are one tenant's, as the settings have it (tenancy: single)",
    Tenancy.SHARED: "NOT all of them are one tenant's, as the settings have it (tenancy: shared)",
}
_LIES = (
    "only by a lie, requests marked as translated that no IOMMU ever saw, do these reach others; "
    "where their ATS is on, the root complex believes them, too, about all of the host's memory"
)

_BY_RULE = (
    "by the rule of the kernel's groups, which these registers break; an IOMMU that translates "
    "before a root port decodes, as VT-d does, leaves no such way, as `pcietune paths` has it"
)


class FunctionDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One function, or VFs of it."""

    address: str
    id: str | None
    itself: bool
    virtual_functions: int
    vms: list[str]
    groups: list[int]
    trusted: bool


class PortDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One port, or function of a device."""

    address: str
    path: str


class ReachDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Ports at which requests pass by the IOMMU."""

    ports: list[PortDocument]
    reason: str
    apart_by: str
    senders: list[FunctionDocument]
    targets: list[FunctionDocument]


class IsolationDocument(msgspec.Struct, kw_only=True, frozen=True):
    """How far a host's functions are apart; docs/json.md explains each key."""

    schema: int
    pcietune: str
    iommu: bool | None
    tenancy: str
    functions: int
    warnings: list[str]
    reaches: list[ReachDocument]
    lies: list[ReachDocument]
    not_known: list[ReachDocument]
    untranslated: dict[str, list[str]]
    summary: str
    problems: list[str]


def isolation_document(view: Isolation, warnings: Iterable[str]) -> str:
    """Return who reaches whom as JSON text."""
    whole = IsolationDocument(
        schema=SCHEMA,
        pcietune=__version__,
        iommu=view.iommu,
        tenancy=view.tenancy,
        functions=len(view.owners),
        warnings=list(warnings),
        reaches=[_reach_document(view, reach) for reach in view.reaches],
        lies=[_reach_document(view, reach) for reach in view.lies],
        not_known=[_reach_document(view, reach) for reach in view.not_known],
        untranslated=untranslated(view),
        summary=summary_line(view),
        problems=[str(problem) for problem in view.problems],
    )
    return encode(whole)


def isolation_lines(view: Isolation, warnings: Iterable[str]) -> Iterator[str]:
    """Yield who reaches whom as lines of text."""
    for warning in warnings:
        yield f"NOT as it seems: {warning}"
    if view.iommu is False:
        yield "NOT APART  no IOMMU is on: every function reaches all of memory and all others"
    elif view.iommu is None:
        yield "note  IOMMU groups are not known here: what may go to different VMs is told as well"
    yield from untranslated_lines(view)
    for reach in view.reaches:
        yield f"NOT APART  {_where(reach)}; {_APART_BY[reach.claim]}"
        yield from _who(view, reach)
        if all(port.is_pci_bridge and not port.ports for port in reach.ports):
            yield f"  {_BY_RULE}"
    for reach in view.not_known:
        yield f"not known  {_where(reach)}"
        yield from _who(view, reach)
    if view.lies:
        yield _LIES
        yield f"  {_TENANCY[view.tenancy]}"
    for reach in view.lies:
        yield f"  {_where(reach)}; {_APART_BY[reach.claim]}"
        yield from (f"  {line}" for line in _who(view, reach, lie=True))
    yield summary_line(view)


def _where(reach: Reach) -> str:
    return f"{', '.join(str(port.address) for port in reach.ports)}: {reach.why}"


def _who(view: Isolation, reach: Reach, *, lie: bool = False) -> Iterator[str]:
    senders, targets = _folded(view, reach.senders), _folded(view, reach.targets)
    for each in senders:
        yield f"    {each.line(lie=lie)}"
    if set(reach.senders) == set(reach.targets):
        yield "  reach each other"
        return
    others = "the others of " if set(reach.senders) & set(reach.targets) else ""
    verb = "reaches" if len(senders) == 1 and senders[0].is_one else "reach"
    yield f"  {verb} {others}".rstrip()
    for each in targets:
        yield f"    {each.line(lie=False)}"


@dataclass(frozen=True, slots=True)
class _Fold:
    """A function and VFs of it, or its VFs alone.

    Attributes:
        address: The function's.
        function: None if it is not meant, but VFs of it.
        owners: Of all that are meant.
        virtual: How many VFs are.
        trusted: Whether all are trusted not to lie.
    """

    address: str
    function: PciFunction | None
    owners: Sequence[Owner]
    virtual: int
    trusted: bool

    @property
    def is_one(self) -> bool:
        """Whether it is a single function."""
        return len(self.owners) == 1

    @property
    def vms(self) -> list[str]:
        """The VMs that have any of them."""
        return sorted({owner.vm for owner in self.owners if owner.vm is not None})

    @property
    def groups(self) -> list[int]:
        """The groups of all, as far as they have any that is known."""
        return sorted({owner.group for owner in self.owners if isinstance(owner.group, int)})

    def line(self, *, lie: bool) -> str:
        """Return what a line says of it, and of whether it may be believed."""
        parts = [self._what(), _groups(self.groups, self.owners), *(f"VM {vm}" for vm in self.vms)]
        if lie:
            parts.append("trusted" if self.trusted else "NOT TRUSTED by the profile")
        return "  ".join(part for part in parts if part)

    def _what(self) -> str:
        virtual = f"{self.virtual} VF{'' if self.virtual == 1 else 's'}"
        if self.function is None:
            return f"{virtual} of {self.address}"
        own = f"{self.address}  {self.function.id}  {class_name(self.function.device_class)}"
        return f"{own}  and {virtual} of it" if self.virtual else own


def _groups(numbers: Sequence[int], owners: Sequence[Owner]) -> str:
    if len(numbers) == 1:
        return f"group {numbers[0]}"
    if numbers:
        return f"{len(numbers)} groups, {numbers[0]} to {numbers[-1]}"
    known = all(not isinstance(owner.group, NotKnown) for owner in owners)
    return "no group" if known else "group not known"


def _folded(view: Isolation, functions: Iterable[PciFunction]) -> list[_Fold]:
    """Return functions with their VFs behind them, in the order of addresses."""
    members: dict[str, list[PciFunction]] = {}
    for function in functions:
        parent = view.parents.get(function.address, function.address)
        members.setdefault(str(parent), []).append(function)
    return [
        _Fold(
            address,
            next((f for f in those if f.address not in view.parents), None),
            [view.owners[f.address] for f in those],
            sum(f.address in view.parents for f in those),
            all(f.address in view.trusted for f in those),
        )
        for address, those in members.items()
    ]


def _reach_document(view: Isolation, reach: Reach) -> ReachDocument:
    return ReachDocument(
        ports=[PortDocument(address=str(p.address), path=p.location) for p in reach.ports],
        reason=reach.why,
        apart_by=reach.claim,
        senders=[_document(fold) for fold in _folded(view, reach.senders)],
        targets=[_document(fold) for fold in _folded(view, reach.targets)],
    )


def _document(fold: _Fold) -> FunctionDocument:
    return FunctionDocument(
        address=fold.address,
        id=None if fold.function is None else fold.function.id,
        itself=fold.function is not None,
        virtual_functions=fold.virtual,
        vms=fold.vms,
        groups=fold.groups,
        trusted=fold.trusted,
    )
