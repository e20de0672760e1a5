"""What would make the requests of one function to another direct, or why nothing does.

What is named is tried: the way is followed again with all of it done, and is direct then. Of a VM's
functions the redirection stays on, whatever it costs: what keeps VMs apart is never named as a
remedy.
"""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.model.fabric import Fabric
from pcietune.model.finding import RemedyKind
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace
from pcietune.model.profile import AcsWant
from pcietune.model.route import ControlsOf
from pcietune.model.trace import Outcome
from pcietune.registers.acs import AcsControl
from pcietune.tune.paths.change import Change, Cure, Prospect
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.tried import fewest, tried

_DIRECT = AcsWant(AcsControl.DIRECT_TRANSLATED_P2P, on=True)
_UNBLOCKED = AcsWant(AcsControl.TRANSLATION_BLOCKING, on=False)
_REDIRECTED = AcsWant(AcsControl.P2P_REQUEST_REDIRECT, on=True)
_APPLY = "pcietune plan --mode vm; pcietune apply --mode vm"
_BOOT = "pcietune kernel-args --mode vm, then reboot with the words that it prints"
_WHICH_DUTY = (
    "the host's duty, on which it depends: on bare metal redirection may go, for VMs it must stay; "
    "name --mode baremetal or --mode vm"
)


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
    guest = flow.sender.address is AddressSpace.GUEST
    kept = None if guest else prospect.kept or _opened(controls_of, receiving)
    missing = _not_known(flow, controls_of, receiving)
    if missing is not None:
        decided = guest or prospect.duty is not None
        beside = kept if kept is not None or decided else _WHICH_DUTY
        return Cure(to_know="; and ".join(filter(None, (missing, beside))))
    if kept is not None:
        return Cure(obstacle=kept)
    if guest:
        found = _for_a_guest(fabric, flow, controls_of, prospect, way.request_port)
        sender = replace(prospect.sender, translated=True, mapped=True)
    elif prospect.duty is None:
        return Cure(to_know=_WHICH_DUTY)
    else:
        sender = replace(flow.sender, address=AddressSpace.PHYSICAL, translated=False)
        wants = fewest(fabric, flow, controls_of, sender, way.request_port)
        found = _on_bare_metal(flow, prospect, way.request_port, wants)
    return found if found.obstacle else tried(fabric, flow, controls_of, sender, found)


def _not_known(flow: Flow, controls_of: ControlsOf, receiving: Sequence[PciFunction]) -> str | None:
    """Return what is to be read before anything can be named; None if all that decides is known."""
    unread = next((port for port in receiving if controls_of(port).enabled is None), None)
    if unread is not None:
        return f"the ACS of {unread.address}, which could not be read"
    sender = flow.sender
    barred = sender.address is AddressSpace.GUEST and sender.answer is AddressSpace.UNKNOWN
    if barred or flow.write.outcome is not Outcome.UNKNOWN:
        return None
    if sender.translated is None:
        return f"whether {sender.function.address} sends translated requests: {sender.why}"
    if sender.address is AddressSpace.UNKNOWN and not sender.translated:
        return (
            f"what the addresses of {sender.function.address} mean: the type of its IOMMU group "
            "(/sys/kernel/iommu_groups/*/type), and whether a VFIO driver has it (lspci -k)"
        )
    return flow.write.reason


def _opened(controls_of: ControlsOf, receiving: Sequence[PciFunction]) -> str | None:
    """Return why a port that lets translated requests across means VMs; None if none does."""
    opened = next((port for port in receiving if controls_of(port).has(_DIRECT.control)), None)
    if opened is None:
        return None
    return (
        f"DirectTrans+ at {opened.address} is set for VMs, which rely on redirection; "
        "pcietune mode baremetal tells the way from that duty to the other"
    )


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
            obstacle="its IOMMU is none that is known to answer with host addresses: RISC-V's may "
            "answer with guest addresses (T2GPA), and DirectTrans must stay off"
        )
    if now.supported is not None and _DIRECT.control not in now.supported:
        return Cure(obstacle=f"{request_port.address} does not implement DirectTrans")
    if now.redirects_requests is False:
        changes.append(
            Change(
                RemedyKind.KERNEL_ARGS,
                "redirection, without which guests' addresses meet the windows of this host",
                _BOOT,
                request_port,
                (_REDIRECTED,),
            )
        )
    if flow.sender.translated is not True:
        remedy = prospect.ats
        changes.append(
            Change(
                RemedyKind.SOFTWARE if remedy is None else remedy.kind,
                f"ATS: {flow.sender.why.removeprefix('its ATS is ')}",
                "pcietune audit --mode vm" if remedy is None else remedy.command,
            )
        )
    changes += [
        Change(
            RemedyKind.KERNEL_ARGS,
            "TransBlk-, as it makes a violation of every translation request",
            _BOOT,
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
                _APPLY,
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
    flow: Flow, prospect: Prospect, port: PciFunction, wants: tuple[AcsWant, ...]
) -> Cure:
    """Return what the host's own functions need: no redirection, and addresses as ports decode.

    The kernel keeps only the last ``pci=disable_acs_redir=``, so what is there already is in it.
    """
    changes = []
    if wants:
        word = ";".join(filter(None, (prospect.redirects_off, port.location)))
        changes.append(
            Change(
                RemedyKind.KERNEL_ARGS,
                f"{' '.join(map(str, wants))}, so that requests to peers are not sent up",
                "pcietune kernel-args --mode baremetal, or one word for all ports, of which the "
                f"kernel keeps the last: 'pci=disable_acs_redir={word}'; then reboot",
                port,
                wants,
            )
        )
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


def _receiving(fabric: Fabric, function: PciFunction) -> list[PciFunction]:
    """Return the ports above a function whose ACS decides about what comes from it."""
    above = fabric.ports_above(function)
    return [port for port in above if fabric.receives(port)]
