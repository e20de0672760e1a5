"""Why a port's ACS control matters, and what to do when it is not as wanted."""

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy, RemedyKind
from pcietune.model.quirks import quirk_of
from pcietune.registers.acs import LSPCI_NAMES, Acs, AcsControl
from pcietune.tune.audit.port_requirements import PortRequirement
from pcietune.tune.vfio_use import ISOLATION, given_to_vfio, named

_ON = {
    AcsControl.DIRECT_TRANSLATED_P2P: "translated requests of the NICs below climb to the root "
    "complex instead of going straight to the GPUs",
    AcsControl.SOURCE_VALIDATION: "functions below may send requests in another's name",
    AcsControl.P2P_REQUEST_REDIRECT: "functions below reach their neighbours unseen by the IOMMU",
    AcsControl.P2P_COMPLETION_REDIRECT: "completions below pass to neighbours unseen by the IOMMU",
    AcsControl.UPSTREAM_FORWARDING: "what a port below redirects is turned around here, unseen by "
    "the IOMMU",
    AcsControl.P2P_EGRESS_CONTROL: "the profile wants peers to be blocked by a vector",
    AcsControl.TRANSLATION_BLOCKING: "the profile wants translated requests to be blocked",
}
_OFF = {
    AcsControl.DIRECT_TRANSLATED_P2P: "translated requests pass to neighbours unseen by the IOMMU",
    AcsControl.SOURCE_VALIDATION: "the profile wants no source validation",
    AcsControl.P2P_REQUEST_REDIRECT: "peer-to-peer requests are redirected to the root complex",
    AcsControl.P2P_COMPLETION_REDIRECT: "peer-to-peer completions are redirected to the root "
    "complex",
    AcsControl.UPSTREAM_FORWARDING: "peer-to-peer requests from below are forwarded upstream",
    AcsControl.P2P_EGRESS_CONTROL: "a vector that pcietune does not know decides between peers",
}
_REDIRECTS = (
    AcsControl.P2P_REQUEST_REDIRECT,
    AcsControl.P2P_COMPLETION_REDIRECT,
    AcsControl.UPSTREAM_FORWARDING,
)


def failing_reason(
    host: HostAccess, fabric: Fabric, requirement: PortRequirement, acs: Acs | None
) -> str:
    """Return why the requirement fails and what that means, in one sentence."""
    want = requirement.want
    if want.on:
        if acs is None:
            return f"{requirement.placed.port.address} has no ACS capability: {_ON[want.control]}"
        if want.control not in acs.supported:
            return (
                f"this switch cannot: ACS Capability {acs.told_capability} of "
                f"{requirement.placed.port.address} has no {LSPCI_NAMES[want.control]}"
            )
        return _vfio_relies(host, fabric, requirement) + _ON[want.control]
    if want.control is AcsControl.TRANSLATION_BLOCKING:
        port = requirement.placed.port.address
        nics = [nic for nic in requirement.group.nics if port in nic.ports]
        return f"every translated request is blocked here: ATS of {named(nics)} is useless"
    reason = _OFF[want.control]
    if want.control in _REDIRECTS and host.platform().groups == {}:
        reason += (
            " though no IOMMU is on: firmware set it, or a kernel with an IOMMU before a kexec, "
            "which ACS words outlive"
        )
    return reason


def _vfio_relies(host: HostAccess, fabric: Fabric, requirement: PortRequirement) -> str:
    """Return the loudest there is: isolation lost below a port whose functions VFIO has."""
    if requirement.want.control not in ISOLATION:
        return ""
    given = given_to_vfio(host, fabric.below(requirement.placed.port))
    return f"ISOLATION LOST, and {named(given)} given to VFIO relies on it: " if given else ""


def failing_remedy(host: HostAccess, requirement: PortRequirement, acs: Acs | None) -> Remedy:
    """Return what to do about a requirement that fails."""
    want = requirement.want
    quirk = quirk_of(requirement.placed.port)
    unchangeable = quirk is not None and acs is None and want.control in quirk.built_in
    if quirk is not None and (unchangeable or quirk.dword_acs or want.control in quirk.not_set):
        return Remedy(RemedyKind.HARDWARE, f"none by pcietune: {quirk.says}")
    if want.on and (acs is None or want.control not in acs.supported):
        another = "a switch, or switch firmware, that offers it"
        return Remedy(RemedyKind.HARDWARE, another, power_cycle=True)
    if requirement.writable:
        return Remedy(RemedyKind.REGISTER, f"pcietune apply --mode {requirement.mode}")
    if want.control is AcsControl.TRANSLATION_BLOCKING:
        return _stop_blocking(host)
    return Remedy(RemedyKind.KERNEL_ARGS, "")  # what it is depends on what else fails on the host


def _stop_blocking(host: HostAccess) -> Remedy:
    if "noats" in host.platform().pci_options:
        return Remedy(RemedyKind.KERNEL_ARGS, "remove pci=noats, then reboot")
    return Remedy(
        RemedyKind.BIOS,
        "the kernel sets it on ports that firmware marks external-facing and above devices it does "
        "not trust: clear that mark in setup; else somebody wrote it",
    )
