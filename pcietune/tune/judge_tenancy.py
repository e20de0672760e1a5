"""Tell that functions of one switch reach each other if one lies about its addresses.

With Direct Translated P2P on, a request that claims to be translated passes from port to port of
the switch, and no IOMMU looks at it.
"""

from collections.abc import Sequence

from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import ModeName
from pcietune.model.settings import Tenancy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import AcsControl
from pcietune.tune.judge_ports import JudgedBit

ID = "isolation.shared-switch"

_DIRECT = AcsControl.DIRECT_TRANSLATED_P2P
_WANTED = Value("one tenant for all of a switch that has DirectTrans on")


def judge_tenancy(
    group: SwitchGroup, mode: ModeName, tenancy: Tenancy, bits: Sequence[JudgedBit]
) -> list[Finding]:
    """Say what a switch group's tenants trust each other with, where DirectTrans is or will be on.

    Args:
        group: The switch group.
        mode: Its duty: only VMs have tenants.
        tenancy: Whether its functions may serve several.
        bits: What its ports owe, judged.
    """
    opened = [bit for bit in bits if _is_open(bit)]
    if mode is not ModeName.VM or not opened:
        return []
    ports = ", ".join(str(bit.requirement.placed.port.address) for bit in opened)
    lie = (
        "with DirectTrans on, a function that lies about translated addresses reaches its "
        "neighbours on this switch unchecked"
    )
    if tenancy is Tenancy.SHARED:
        severity, found = Severity.WARNING, Value("several tenants", tenancy)
        reason = f"{lie}, and they may be another tenant's"
        remedy = Remedy(
            RemedyKind.SOFTWARE,
            "give all GPUs and NICs of this switch to one tenant, or judge it by a profile that "
            "leaves DirectTrans off",
        )
    else:
        severity, found = Severity.INFO, Value("one tenant, as the settings say", tenancy)
        reason = f"{lie}: they must be the same tenant's"
        remedy = None
    return [
        Finding(
            ID,
            Subject.of(group.top),
            severity,
            State.FAIL,
            found,
            _WANTED,
            f"{reason} ({ports})",
            remedy,
        )
    ]


def _is_open(bit: JudgedBit) -> bool:
    """Return whether the port lets translated requests pass, or is to do so."""
    requirement = bit.requirement
    if requirement.want.control is not _DIRECT or bit.acs is None:
        return False
    wanted = requirement.want.on and requirement.trusted and _DIRECT in bit.acs.supported
    return wanted or _DIRECT in bit.acs.enabled
