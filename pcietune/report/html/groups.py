"""The IOMMU groups of the page."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.model.not_known import NOT_KNOWN
from pcietune.report.groups import advice
from pcietune.report.html.anchors import of_function
from pcietune.tune.view.groups import GroupsView, GroupView


@dataclass(frozen=True, slots=True)
class Group:
    """One IOMMU group.

    Attributes:
        number: As the kernel has it.
        type: Of its default domain.
        viability: Whether VFIO would take it.
        members: Id of the box, address, and what else there is to say, of each member.
        told: What to know and to do.
    """

    number: int
    type: str
    viability: str
    members: tuple[tuple[str, str, str], ...]
    told: tuple[str, ...]


def groups(view: GroupsView) -> Iterator[Group]:
    """Yield the groups that a host's view has."""
    for each in view.groups:
        yield Group(
            each.group.number,
            each.group.type or "not known",
            each.viability,
            tuple(
                (of_function(m.address), str(m.address), _driver(m.driver)) for m in each.members
            ),
            (*_reaches(each), *advice(each)),
        )


def _driver(driver: object) -> str:
    if driver is NOT_KNOWN:
        return "driver not known"
    return "no driver" if driver is None else f"driver {driver}"


def _reaches(view: GroupView) -> Iterator[str]:
    for reach in view.reaches:
        others = ", ".join(str(other.address) for other in reach.others)
        why = f"{reach.opening.at.address} {reach.opening.why}"
        lie = ", though a request may bear another's name"
        if reach.opening.only_source_validation:
            yield f"apart from {others}{lie}: {why}"
        else:
            yield f"NOT APART from {others}: {why}"
    for other in view.companions:
        yield f"{other.address} is part of the same device, and in another group or in none"
    if view.kept_together:
        yield "the ports keep its devices apart now, so the group is from before: reboot or rescan"
