"""Judge counts and shape: what is missing on this host, never a reason not to match."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import Layout, RoleName
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup

_LABELS = {
    RoleName.GPU: "GPU",
    RoleName.NIC: "NIC",
    RoleName.NVSWITCH: "NVSwitch",
    RoleName.DPU: "DPU",
}
_LOOK = Remedy(RemedyKind.HARDWARE, "look for a function that lspci does not list, and at dmesg")


def judge_layout(
    layout: Layout, roles: Mapping[PciAddress, RoleName], groups: Sequence[SwitchGroup]
) -> list[Finding]:
    """Judge how many functions of each role there are, and what each switch group holds."""
    counts = Counter(roles.values())
    judged = [
        _count(f"layout.{role}", HOST, _label(role, counts[role]), _label(role, wanted))
        for role, wanted in layout.functions.items()
    ]
    shape = layout.switch_groups
    if shape is None:
        return judged
    judged.append(
        _count("layout.switch-groups", HOST, _switches(len(groups)), _switches(shape.count))
    )
    for group in groups:
        held = {RoleName.GPU: len(group.gpus), RoleName.NIC: len(group.nics)}
        found = ", ".join(_label(role, held.get(role, 0)) for role in shape.functions)
        wanted = ", ".join(_label(role, count) for role, count in shape.functions.items())
        judged.append(_count("layout.switch-group", Subject.of(group.top), found, wanted))
    return judged


def _switches(count: int) -> str:
    return f"{count} switch group{'' if count == 1 else 's'}"


def _label(role: RoleName, count: int) -> str:
    plural = "" if count == 1 else "es" if role is RoleName.NVSWITCH else "s"
    return f"{count} {_LABELS[role]}{plural}"


def _count(finding_id: str, subject: Subject, found: str, wanted: str) -> Finding:
    fits = found == wanted
    return Finding(
        finding_id,
        subject,
        Severity.ERROR,
        State.PASS if fits else State.FAIL,
        Value(found, found.split(" ", 1)[0] if "," not in found else None),
        Value(wanted, wanted.split(" ", 1)[0] if "," not in wanted else None),
        "" if fits else f"this host has {found} where its kind has {wanted}",
        None if fits else _LOOK,
    )
