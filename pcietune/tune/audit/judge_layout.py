"""Judge counts and shape: what is missing or misplaced here, never a reason not to match."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.model.card import Card, cards
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import Counts, Layout, SwitchGroupLayout
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup

SWITCH_GROUPS = "layout.switch-groups"
SWITCH_GROUP = "layout.switch-group"
MISPLACED = "layout.misplaced"
NIC_PORTS = "layout.nic-ports"

_LABELS = {
    RoleName.GPU: "GPU",
    RoleName.NIC: "NIC",
    RoleName.NVSWITCH: "NVSwitch",
    RoleName.DPU: "DPU",
}
_LOOK = Remedy(RemedyKind.HARDWARE, "look for a function that lspci does not list, and at dmesg")
_MOVE = Remedy(RemedyKind.HARDWARE, "compare its slot with the vendor's manual; look for the NIC")
_IN_A_GROUP = Value("in a switch group")


def judge_layout(
    fabric: Fabric,
    layout: Layout,
    roles: Mapping[PciAddress, RoleName],
    groups: Sequence[SwitchGroup],
) -> list[Finding]:
    """Judge how many cards of each role there are, and where."""
    having = {
        role: [fabric.functions[address] for address, has in roles.items() if has is role]
        for role in RoleName
    }
    judged = [
        _judge(f"layout.{role}", HOST, [(role, cards(fabric, having[role]), wanted)])
        for role, wanted in layout.cards.items()
    ]
    if layout.nic_ports:
        judged += [_ports(card, layout.nic_ports) for card in cards(fabric, having[RoleName.NIC])]
    misplaced = _misplaced(fabric, having[RoleName.GPU], groups)
    if layout.switch_groups is None:
        return [*judged, *_as_information(misplaced)]
    count = layout.switch_groups.count
    found, wanted = _label("switch group", (len(groups),)), _label("switch group", count)
    tops = [group.top for group in groups]
    judged.append(
        _counted(SWITCH_GROUPS, HOST, found, wanted, fits=len(groups) in count, there=tops)
    )
    judged += [_group(fabric, group, layout.switch_groups) for group in groups]
    if _all_in_groups(layout.cards.get(RoleName.GPU, ()), layout.switch_groups):
        return [*judged, *misplaced]
    return [*judged, *_as_information(misplaced)]


def _group(fabric: Fabric, group: SwitchGroup, shape: SwitchGroupLayout) -> Finding:
    held = {RoleName.GPU: group.gpus, RoleName.NIC: group.nics}
    return _judge(
        SWITCH_GROUP,
        Subject.of(group.top),
        [(role, cards(fabric, held.get(role, ())), wanted) for role, wanted in shape.cards.items()],
    )


def _judge(
    finding_id: str, subject: Subject, counted: Sequence[tuple[RoleName, Sequence[Card], Counts]]
) -> Finding:
    """Judge the numbers of cards; where one is not as wanted, name those that are there."""
    fits = all(len(found) in wanted for _, found, wanted in counted)
    return _counted(
        finding_id,
        subject,
        ", ".join(_label(_LABELS[role], (len(found),)) for role, found, _ in counted),
        ", ".join(_label(_LABELS[role], wanted) for role, _, wanted in counted),
        fits=fits,
        there=[
            card[0] for _, found, wanted in counted if len(found) not in wanted for card in found
        ],
    )


def _counted(  # noqa: PLR0913 -- a finding has as many parts
    finding_id: str,
    subject: Subject,
    found: str,
    wanted: str,
    *,
    fits: bool,
    there: Iterable[PciFunction] = (),
) -> Finding:
    what = "this host" if subject is HOST else "it"
    names = ", ".join(str(function.address) for function in there)
    reason = f"{what} has {found}{f' ({names})' if names else ''} where its kind has {wanted}"
    return Finding(
        finding_id,
        subject,
        Severity.ERROR,
        State.PASS if fits else State.FAIL,
        Value(found, _number(found)),
        Value(wanted, _number(wanted)),
        "" if fits else reason,
        None if fits else _LOOK,
    )


def _ports(card: Card, wanted: Counts) -> Finding:
    found, want = _label("port", (len(card),)), _label("port", wanted)
    return _counted(
        NIC_PORTS, Subject.of(card[0]), found, want, fits=len(card) in wanted, there=card
    )


def _all_in_groups(total: Counts, shape: SwitchGroupLayout) -> bool:
    """Return whether the profile leaves no GPU for a place outside of the switch groups."""
    each = shape.cards.get(RoleName.GPU)
    return each is not None and (not total or min(total) <= max(shape.count) * max(each))


def _misplaced(
    fabric: Fabric, gpus: Iterable[PciFunction], groups: Sequence[SwitchGroup]
) -> Iterator[Finding]:
    """Judge where each GPU is: the NICs reach it only across a switch that it shares with them."""
    inside = {gpu.address: group for group in groups for gpu in group.gpus}
    for gpu in gpus:
        group = inside.get(gpu.address)
        top = fabric.topmost_switch(gpu)
        if group is not None:
            found, reason = f"in switch group {group.name}", ""
        elif top is None:
            found, reason = "below no switch", "no NIC reaches it across a switch"
        else:
            found, reason = f"below switch {top.location}", "that switch carries no NIC"
        yield Finding(
            MISPLACED,
            Subject.of(gpu),
            Severity.ERROR,
            State.PASS if group is not None else State.FAIL,
            Value(found),
            _IN_A_GROUP,
            reason,
            None if group is not None else _MOVE,
        )


def _as_information(placed: Iterable[Finding]) -> Iterator[Finding]:
    """Keep the GPUs outside of switch groups, where the profile does not want all in one."""
    for finding in placed:
        if finding.state is State.FAIL:
            reason = f"{finding.reason}: between it and NICs all goes through the root complex"
            yield replace(
                finding,
                severity=Severity.INFO,
                reason=f"{reason}, whatever ACS says",
                remedy=None,
            )


def _label(word: str, counts: Counts) -> str:
    """Return ``2 or 4 GPUs``."""
    plural = "" if counts == (1,) else "es" if word.endswith("ch") else "s"
    return f"{' or '.join(map(str, counts))} {word}{plural}"


def _number(text: str) -> str | None:
    """Return the only number of a label, for programs; None if it has several."""
    number, _, rest = text.partition(" ")
    return number if "," not in rest and not rest.startswith("or ") else None
