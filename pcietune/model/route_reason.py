"""Why a packet's way ended as it did, in half a sentence."""

from collections.abc import Callable, Sequence

from pcietune.model.function import PciFunction
from pcietune.model.port_controls import PortControls, Setting
from pcietune.model.trace import Decision, Outcome, Step
from pcietune.registers.acs import AcsControl

_ControlsOf = Callable[[PciFunction], PortControls]
_COMPLETION = AcsControl.P2P_COMPLETION_REDIRECT
_MAY_REDIRECT = (Setting.ON, Setting.HARD_WIRED, Setting.NOT_KNOWN)


def redirecting(steps: Sequence[Step]) -> Step | None:
    """Return the first step at which a packet was redirected; None if it was not."""
    return next((step for step in steps if step.decision is Decision.REDIRECTED), None)


def reason(outcome: Outcome, last: Step, steps: Sequence[Step], controls_of: _ControlsOf) -> str:
    """Return why a way ended as it did, in half a sentence."""
    name = last.control_text
    if outcome is Outcome.BLOCKED:
        return _why_blocked(last, name)
    if outcome is Outcome.UNKNOWN:
        return _why_unknown(last, name, controls_of)
    if outcome is Outcome.VIA_ROOT_COMPLEX:
        return _why_up(steps)
    if outcome is Outcome.DIRECT and last.control is _COMPLETION and last.setting in _MAY_REDIRECT:
        lets = ", but any lets" if last.setting is Setting.NOT_KNOWN else " lets"
        return f"turned where the two ways part: {name}{lets} pass what has Relaxed Ordering"
    lets = "no ACS there" if last.setting is Setting.NO_ACS else name or "its bus"
    return {
        Outcome.DIRECT: "turned where the two ways part" + (f": {name}" if name else ""),
        Outcome.TURNED_ABOVE: _why_turned(last, name),
        Outcome.MISROUTED: f"{lets} lets a guest's address meet this host's windows",
    }[outcome]


def _why_turned(last: Step, name: str) -> str:
    if last.decision is Decision.TURNED:
        return f"redirected below, and turned here past the IOMMU: {name}"
    return f"the root complex turns it between root ports of one slot, past the IOMMU: {name}"


def _why_unknown(last: Step, name: str, controls_of: _ControlsOf) -> str:
    if last.port is not None and last.on is None:
        why = (controls_of(last.port).why_unread or "").removeprefix(f"{last.port.address}: ")
        return "ACS could not be read" + (f": {why}" if why else "")
    if last.port is None:
        return "whether the IOMMU, which does not map the target's BAR, translates it is not known"
    if last.control is AcsControl.P2P_EGRESS_CONTROL and last.decision is Decision.NOT_KNOWN:
        return f"{name}, and which peers its vector forbids is not known"
    if last.on:
        return f"what the address means is not known, and {name} lets it across"
    return f"what the address means is not known, and with {name or 'no ACS'} nothing sends it up"


def _why_blocked(last: Step, name: str) -> str:
    if last.port is None:
        return "the IOMMU does not map the target's BAR for the sender"
    if last.control is AcsControl.TRANSLATION_BLOCKING:
        return f"{name} makes an ACS violation of every translation request"
    return f"{name} forbids it: an ACS violation"


def _why_up(steps: Sequence[Step]) -> str:
    first = redirecting(steps)
    if first is not None and first.control is not None:
        return f"{first.control_text} sends it up"
    if any(step.decision is Decision.UP and step.control is not None for step in steps):
        return "no window of the switch holds the kernel's I/O virtual address"
    return "the two have no switch in common"
