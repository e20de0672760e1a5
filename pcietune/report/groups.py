"""IOMMU groups for people, and as JSON."""

from collections.abc import Iterable

import msgspec

from pcietune import __version__
from pcietune.model.not_known import NOT_KNOWN
from pcietune.report.class_names import class_name
from pcietune.report.json_text import encode
from pcietune.tune.view.groups import GroupsView, GroupView, Member, Reach, Viability

SCHEMA = 1

_STORAGE, _DISPLAY = 0x01, 0x03


class MemberDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One member of a group; only its address is known of one that is not there."""

    address: str
    path: str | None
    id: str | None
    class_code: str | None
    class_name: str | None
    role: str | None
    driver: str | None
    vfio: bool | None
    blocks: bool
    not_known: list[str]


class ReachDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A port or function at which the group is not apart from others."""

    address: str
    missing: str
    others: list[str]


class JoinDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A port or function on account of which functions share the group."""

    address: str
    missing: str


class GroupDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One group."""

    group: int
    type: str | None
    viability: str
    advice: list[str]
    members: list[MemberDocument]
    companions: list[str]
    reaches: list[ReachDocument]
    joined_at: list[JoinDocument]
    kept_together: bool


class GroupsDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A host's groups; docs/json.md explains each key."""

    schema: int
    pcietune: str
    warnings: list[str]
    groups: list[GroupDocument]
    problems: list[str]


def groups_document(view: GroupsView, warnings: Iterable[str]) -> str:
    """Return the groups as JSON text."""
    whole = GroupsDocument(
        schema=SCHEMA,
        pcietune=__version__,
        warnings=list(warnings),
        groups=[_document(group) for group in view.groups],
        problems=[str(problem) for problem in view.problems],
    )
    return encode(whole)


def groups_lines(view: GroupsView, warnings: Iterable[str]) -> Iterable[str]:
    """Yield the groups as lines of text."""
    for warning in warnings:
        yield f"NOT as it seems: {warning}"
    if not view.groups:
        yield "no IOMMU group to show"
    for group in view.groups:
        yield _headline(group)
        for member in group.members:
            yield f"  {_member_line(member)}"
        for text in (*advice(group), *_told(group)):
            yield f"  -> {text}"


def advice(view: GroupView) -> list[str]:
    """Return what to do so that VFIO takes the group: never to bind a bridge."""
    said = []
    blocking = [(m, m.function) for m in view.members if m.function is not None and m.blocks]
    devices = [(member, f) for member, f in blocking if not f.is_pci_bridge]
    if view.viability is Viability.BLOCKED:
        said += [f"bind {member.address} too: {f.driver} has it" for member, f in devices]
        taken = dict.fromkeys(str(f.driver) for _, f in devices if f.class_code >> 16 == _DISPLAY)
        said += [
            f"for the next boot, let vfio-pci come first: {_before(driver)}" for driver in taken
        ]
    elif devices:
        addresses = ", ".join(str(member.address) for member, _ in devices)
        drivers = list(dict.fromkeys(str(f.driver) for _, f in devices))
        said.append(
            f"for a VM, bind {addresses} before {', '.join(drivers)} loads: "
            f"by {_before(drivers[0])}"
        )
    said += [
        f"unbind {f.driver} from {member.address}: of bridges, VFIO bears those of pcieport"
        for member, f in blocking
        if f.is_pci_bridge
    ]
    said += [
        f"{member.address} holds disks: is the host's own root among them?"
        for member, f in devices
        if f.class_code >> 16 == _STORAGE
    ]
    return said


def _before(driver: str) -> str:
    """Return what lets vfio-pci have a function before its own driver does."""
    return f"driver_override, or in modprobe.d softdep {driver} pre: vfio-pci"


def _told(view: GroupView) -> Iterable[str]:
    bridges = [m.function for m in view.members if m.function and m.function.is_pci_bridge]
    given = any(member.vfio for member in view.members)
    if bridges and given and view.viability is Viability.VIABLE:
        named = ", ".join(str(bridge.address) for bridge in bridges)
        yield (
            f"{named} is not to be bound: bridges of pcieport do not count, and ACS is not what "
            "keeps VFIO from this group"
        )
    for other in view.companions:
        yield f"{other.address} is part of the same device, and in another group or in none"
    for opening in view.joined_at:
        yield f"together, since {opening.at.address} {opening.why}"
    for reach in view.reaches:
        why = f"{reach.opening.at.address} {reach.opening.why}"
        if reach.opening.only_source_validation:
            yield f"apart from {_names(reach)}, though a request may bear another's name: {why}"
        else:
            yield f"NOT APART from {_names(reach)}: {why}"
    if view.kept_together:
        yield (
            "the ports keep its devices apart now, so the group is from before: reboot, or remove "
            "them and rescan"
        )


def _headline(view: GroupView) -> str:
    kind = view.group.type or "type not known"
    known = view.viability is not Viability.NOT_KNOWN
    viability = view.viability if known else f"viability {Viability.NOT_KNOWN}"
    return f"group {view.group.number}  {kind}  {viability}"


def _member_line(member: Member) -> str:
    function = member.function
    if function is None:
        gone = "not in the dump" if member.driver is NOT_KNOWN else "vanished"
        return f"{member.address}  {gone}"
    parts = [str(member.address), function.id, class_name(function.device_class)]
    if member.role is not None:
        parts.append(member.role)
    if member.driver is NOT_KNOWN:
        parts.append("driver not known")
    else:
        parts.append(f"driver {member.driver}" if member.driver else "no driver")
    if member.blocks:
        parts.append("BLOCKS")
    return "  ".join(parts)


def _names(reach: Reach) -> str:
    return ", ".join(str(other.address) for other in reach.others)


def _document(view: GroupView) -> GroupDocument:
    return GroupDocument(
        group=view.group.number,
        type=view.group.type,
        viability=view.viability,
        advice=advice(view),
        members=[_member_document(member) for member in view.members],
        companions=[str(other.address) for other in view.companions],
        reaches=[
            ReachDocument(
                address=str(reach.opening.at.address),
                missing=reach.opening.why.removeprefix("has "),
                others=[str(other.address) for other in reach.others],
            )
            for reach in view.reaches
        ],
        joined_at=[
            JoinDocument(address=str(o.at.address), missing=o.why.removeprefix("has "))
            for o in view.joined_at
        ],
        kept_together=view.kept_together,
    )


def _member_document(member: Member) -> MemberDocument:
    function = member.function
    driver = member.driver
    return MemberDocument(
        address=str(member.address),
        path=None if function is None else function.location,
        id=None if function is None else function.id,
        class_code=None if function is None else f"{function.class_code:06x}",
        class_name=None if function is None else class_name(function.device_class),
        role=member.role,
        driver=None if driver is NOT_KNOWN else driver,
        vfio=member.vfio,
        blocks=member.blocks,
        not_known=["driver", "vfio"] if driver is NOT_KNOWN else [],
    )
