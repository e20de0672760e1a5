"""What would make the requests of one function to another direct, or why nothing does.

What is named is tried: the way is followed again with all of it done, and is direct then. Of a VM's
functions the redirection stays on, whatever it costs: what keeps VMs apart is never named as a
remedy.
"""

from collections.abc import Mapping
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.finding import RemedyKind
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, PacketKind
from pcietune.model.profile import AcsWant
from pcietune.model.route import ControlsOf, trace
from pcietune.model.trace import Outcome
from pcietune.registers.acs import AcsControl
from pcietune.registers.express import PortType
from pcietune.tune.paths.change import Change, Cure, Prospect
from pcietune.tune.paths.controls import once_written
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.sender import Sender

_DIRECT = AcsWant(AcsControl.DIRECT_TRANSLATED_P2P, on=True)
_UNBLOCKED = AcsWant(AcsControl.TRANSLATION_BLOCKING, on=False)
_REDIRECTING = (AcsControl.P2P_REQUEST_REDIRECT, AcsControl.P2P_COMPLETION_REDIRECT)
_REDIRECTS = tuple(AcsWant(control, on=True) for control in _REDIRECTING)
_UNCONTROLLED = AcsWant(AcsControl.P2P_EGRESS_CONTROL, on=False)
_NO_REDIRECT = (*(AcsWant(control, on=False) for control in _REDIRECTING), _UNCONTROLLED)
_RECEIVES = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)


def cure(fabric: Fabric, flow: Flow, controls_of: ControlsOf, prospect: Prospect) -> Cure:
    """Return what makes a function's writes to another direct.

    Args:
        fabric: The functions, with port types for all bridges above the two.
        flow: What passes between the two now.
        controls_of: The ACS of ports as it is now.
        prospect: What the requester could be.
    """
    if flow.write.is_direct:
        return Cure()
    way = fabric.route(flow.sender.function, flow.completer)
    if way is None:
        return Cure(obstacle="the two have no switch in common: it is the root complex that routes")
    receiving = (*_receiving(fabric, flow.sender.function), way.completion_port)
    unread = next((port for port in receiving if controls_of(port).enabled is None), None)
    if unread is not None:
        return Cure(obstacle=f"the ACS of {unread.address} could not be read")
    if flow.sender.address is AddressSpace.GUEST:
        found = _for_a_guest(fabric, flow, controls_of, prospect, way.request_port)
        sender = replace(prospect.sender, translated=True, mapped=True)
    elif not prospect.may_clear:
        return Cure(
            obstacle="redirection keeps apart what VMs are given here, and what the host itself "
            "sends past it has no other way"
        )
    else:
        found = _on_bare_metal(flow, controls_of, (way.request_port, way.completion_port))
        sender = replace(flow.sender, address=AddressSpace.PHYSICAL, translated=False)
    return found if found.obstacle else _tried(fabric, flow, controls_of, sender, found)


def _for_a_guest(
    fabric: Fabric,
    flow: Flow,
    controls_of: ControlsOf,
    prospect: Prospect,
    request_port: PciFunction,
) -> Cure:
    """Return what a VM's function needs: redirection, ATS, and DirectTrans where it turns."""
    changes: list[Change] = []
    now = controls_of(request_port)
    if prospect.sender.translated is not True:
        return Cure(obstacle=f"{prospect.sender.why}, so that its requests must go up")
    if prospect.sender.answer is not AddressSpace.PHYSICAL:
        return Cure(
            obstacle="its IOMMU may answer with guest addresses (T2GPA), which are not to be "
            "routed by a switch: DirectTrans must stay off"
        )
    if now.supported is not None and _DIRECT.control not in now.supported:
        return Cure(obstacle=f"{request_port.address} does not implement DirectTrans")
    if now.redirects_requests is False:
        changes.append(
            Change(
                RemedyKind.KERNEL_ARGS,
                "redirection, without which guests' addresses meet the windows of this host",
                "pcietune kernel-args --write, then reboot",
                request_port,
                _REDIRECTS,
            )
        )
    if flow.sender.translated is not True:
        remedy = prospect.ats
        changes.append(
            Change(
                RemedyKind.SOFTWARE if remedy is None else remedy.kind,
                f"ATS: {flow.sender.why}",
                "pcietune audit tells what keeps it off" if remedy is None else remedy.command,
            )
        )
    changes += [
        Change(
            RemedyKind.KERNEL_ARGS,
            "TransBlk-, as it makes a violation of every translation request",
            "pcietune kernel-args --write, then reboot",
            port,
            (_UNBLOCKED,),
        )
        for port in _receiving(fabric, flow.sender.function)
        if controls_of(port).has(_UNBLOCKED.control)
    ]
    if not now.has(_DIRECT.control):
        changes.append(
            Change(
                RemedyKind.REGISTER,
                "DirectTrans+, so that translated requests go straight across",
                "pcietune apply",
                request_port,
                (_DIRECT,),
            )
        )
    if flow.sender.mapped is False:
        changes.append(
            Change(
                RemedyKind.SOFTWARE,
                "a mapping of the other's BAR: iommufd makes none before Linux 7.0",
                "give it to the VM by VFIO's groups instead of iommufd, or boot Linux 7.0 or later",
            )
        )
    return Cure(tuple(changes))


def _on_bare_metal(
    flow: Flow, controls_of: ControlsOf, ports: tuple[PciFunction, PciFunction]
) -> Cure:
    """Return what the host's own functions need: no redirection, and addresses as ports decode."""
    wanted = {port: _switched_off(controls_of, port) for port in ports}
    changes = [
        Change(
            RemedyKind.KERNEL_ARGS,
            f"{' '.join(map(str, wants))}, so that peers' packets are not sent up",
            f"pcietune kernel-args --write, or pci=disable_acs_redir={port.location}, then reboot",
            port,
            wants,
        )
        for port, wants in wanted.items()
        if wants
    ]
    if flow.sender.address is not AddressSpace.PHYSICAL:
        unknown = flow.sender.address is AddressSpace.UNKNOWN
        changes.append(
            Change(
                RemedyKind.KERNEL_ARGS,
                "addresses as the ports decode them: "
                + (
                    "whether the IOMMU translates is not known here"
                    if unknown
                    else "the IOMMU translates, so that its addresses are in no switch's window"
                ),
                "iommu=pt, or an identity domain for its group, then reboot",
            )
        )
    return Cure(tuple(changes))


def _switched_off(controls_of: ControlsOf, port: PciFunction) -> tuple[AcsWant, ...]:
    now = controls_of(port)
    return tuple(want for want in _NO_REDIRECT if now.has(want.control))


def _tried(
    fabric: Fabric, flow: Flow, controls_of: ControlsOf, sender: Sender, found: Cure
) -> Cure:
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


def _receiving(fabric: Fabric, function: PciFunction) -> list[PciFunction]:
    """Return the ports above a function whose ACS decides about what comes from it."""
    above = fabric.ports_above(function)
    return [port for port in above if fabric.port_type(port) in _RECEIVES]
