"""Judge what is protected: wishes that come to nothing, and what the profile then goes without."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.finding import UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.protection import Protect, Protection
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity

LEFT_OUT = "protect.left-out"
UNUSED = "protect.unused"

_SELECTING = Value("a function that is here")
_TUNED = Value("a GPU or NIC that is free to be tuned, or protected by the settings")
_TUNABLE = (RoleName.GPU, RoleName.NIC)
_DECIDE = Remedy(
    RemedyKind.SOFTWARE,
    "take the host's own use elsewhere, or name the function by its location under protect in "
    "/etc/pcietune/pcietune.yaml: early at boot nothing else tells",
)


def judge_protection(
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    protection: Protection,
    gone: frozenset[PciAddress],
) -> list[Finding]:
    """Judge the protection.

    Args:
        fabric: All functions.
        roles: Those that functions would have without it.
        protection: What is protected.
        gone: What is neither judged nor tuned for it.
    """
    findings = [_unused(wish) for wish in protection.unused]
    findings += [_undecided(wish) for wish in protection.undecided]
    for address, reason in protection.why.items():
        role = roles.get(address)
        if role in _TUNABLE and address in gone:
            asked = address in protection.by_settings
            findings.append(
                Finding(
                    LEFT_OUT,
                    Subject.of(fabric.functions[address]),
                    Severity.INFO if asked else Severity.WARNING,
                    State.FAIL,
                    Value("protected"),
                    _TUNED,
                    f"it would be of role {role}, but {reason}: it is neither judged nor tuned",
                    None if asked else _DECIDE,
                )
            )
    return findings


def _unused(wish: Protect) -> Finding:
    return Finding(
        UNUSED,
        _subject(wish),
        Severity.INFO,
        State.FAIL,
        Value("selects nothing"),
        _SELECTING,
        "nothing of that name is here, so nothing is protected by it",
    )


def _undecided(wish: Protect) -> Finding:
    reason = f"what has this {wish.by} is not recorded, so nothing is protected by it"
    return Finding(UNUSED, _subject(wish), Severity.INFO, State.ERROR, UNKNOWN, _SELECTING, reason)


def _subject(wish: Protect) -> Subject:
    return Subject(f"protect {wish}")
