"""Whether writes are direct once something is changed: the way is followed again with it done."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import PacketKind
from pcietune.model.profile import AcsWant
from pcietune.model.route import ControlsOf, trace
from pcietune.model.trace import Outcome
from pcietune.registers.acs import AcsControl
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.controls import once_written
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.sender import Sender

_NO_REDIRECT = AcsWant(AcsControl.P2P_REQUEST_REDIRECT, on=False)
_UNCONTROLLED = AcsWant(AcsControl.P2P_EGRESS_CONTROL, on=False)
_FEWEST_FIRST = ((), (_NO_REDIRECT,), (_UNCONTROLLED,), (_NO_REDIRECT, _UNCONTROLLED))


def fewest(
    fabric: Fabric, flow: Flow, controls_of: ControlsOf, sender: Sender, port: PciFunction
) -> tuple[AcsWant, ...]:
    """Return the fewest controls of the port where requests turn that are in their way."""
    for wants in _FEWEST_FIRST:
        if _written(fabric, flow, controls_of, sender, {port.address: wants}) is None:
            return wants
    return ()


def tried(fabric: Fabric, flow: Flow, controls_of: ControlsOf, sender: Sender, found: Cure) -> Cure:
    """Return the cure if the writes are direct with it, else what still keeps them from it."""
    wanted: dict[PciAddress, tuple[AcsWant, ...]] = {}
    for change in found.changes:
        if change.port is not None:
            address = change.port.address
            wanted[address] = (*wanted.get(address, ()), *change.wants)
    after = _written(fabric, flow, controls_of, sender, wanted)
    return found if after is None else Cure(obstacle=after)


def _written(
    fabric: Fabric,
    flow: Flow,
    controls_of: ControlsOf,
    sender: Sender,
    wanted: Mapping[PciAddress, tuple[AcsWant, ...]],
) -> str | None:
    packet = sender.request(PacketKind.WRITE, translated=sender.translated is True)
    written = once_written(controls_of, wanted)
    after = trace(fabric, sender.function, flow.completer, packet, written)
    if after.outcome is Outcome.DIRECT:
        return None
    return f"{after.at.address}: {after.reason}" if after.at is not None else after.reason
