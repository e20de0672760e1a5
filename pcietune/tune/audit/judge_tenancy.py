"""Tell that functions of one switch reach each other if one lies about its addresses.

With Direct Translated P2P on, a request that claims to be translated passes from port to port of
the switch, and no IOMMU looks at it.
"""

from collections.abc import Sequence

from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import AcsWant, ModeName
from pcietune.model.settings import Tenancy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.judge_ports import JudgedBit

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
    opened = list(dict.fromkeys(_port(bit) for bit in bits if _is_on(bit) or _is_to_be_on(bit)))
    if mode is not ModeName.VM or not opened:
        return []
    asked = {_port(bit) for bit in bits if _is_to_be_on(bit)}
    ports = ", ".join(opened)
    unasked = ", ".join(port for port in opened if port not in asked)
    if unasked:
        ports = f"{ports}; nothing asks for it at {unasked}"
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
            "leaves DirectTrans off, or trust them that far: a waiver with the reason, in "
            "/etc/pcietune/pcietune.yaml",
        )
    else:
        severity, found = (
            Severity.INFO,
            Value("one tenant: tenancy is single, the default", tenancy),
        )
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


def _port(bit: JudgedBit) -> str:
    return str(bit.requirement.placed.port.address)


def _is_on(bit: JudgedBit) -> bool:
    """Return whether the port lets translated requests pass, wherever it is."""
    return bit.acs is not None and _DIRECT in bit.acs.enabled


def _is_to_be_on(bit: JudgedBit) -> bool:
    """Return whether the profile wants it of the port, which can."""
    requirement = bit.requirement
    wanted = requirement.want == AcsWant(_DIRECT, on=True) and requirement.trusted
    return wanted and bit.acs is not None and _DIRECT in bit.acs.supported
