"""What holds for a pair, or for many, beside their routes: above all that ACS is not to blame."""

from collections.abc import Iterable, Iterator, Sequence

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.packet import AddressSpace
from pcietune.model.platform import Platform
from pcietune.model.route import ControlsOf
from pcietune.model.severity import Severity
from pcietune.model.trace import Outcome
from pcietune.registers.acs import LSPCI_NAMES, AcsControl
from pcietune.registers.express import PortType
from pcietune.tune.audit.judge_command_line import lint_words
from pcietune.tune.paths.p2pdma import root_complex
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.stray import stray, stray_notes
from pcietune.tune.paths.view import Pair

_MEDDLES = (
    AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.P2P_EGRESS_CONTROL
    | AcsControl.TRANSLATION_BLOCKING
)
"""Controls by which a port sends packets elsewhere, or stops them."""

_IF_ONE = "should one VM get both, --mode vm shows their ways there"
_IOMMUFD_MAPS_SINCE = (7, 0)


class Notes:
    """Writes notes, from the fabric and the ACS of its ports.

    Those of a VM are not the ones that decide, so there ACS is never said to be not to blame.
    """

    def __init__(self, fabric: Fabric, controls_of: ControlsOf, *, in_a_vm: bool = False) -> None:
        self._fabric = fabric
        self._controls_of = controls_of
        self._in_a_vm = in_a_vm

    def of_pair(self, pair: Pair) -> tuple[str, ...]:
        """Return what is to be said of one pair."""
        one, other = pair.one.function, pair.other.function
        ports = self._above((one, other))
        flows = (pair.now.forth, pair.now.back)
        ways = (stray(self._fabric, flow, self._controls_of) for flow in flows)
        notes = list(stray_notes(filter(None, ways)))
        if pair.apart is not None:
            vms = all(flow.sender.address is AddressSpace.GUEST for flow in flows)
            asked = "" if vms else f"; {_IF_ONE}"
            notes.append(f"{pair.apart}: no VM's domain maps the other's BAR{asked}")
        if self._is_exonerated(ports):
            notes.append(
                "ACS is not what keeps these two apart: no port on their ways has a control on "
                "that redirects or blocks" + self._only_validating(ports)
            )
        roots = [port for port in ports if self._fabric.port_type(port) is PortType.ROOT_PORT]
        redirecting = [
            root for root in roots if self._controls_of(root).has(AcsControl.P2P_REQUEST_REDIRECT)
        ]
        named = " and ".join(str(root.address) for root in redirecting)
        guest = pair.now.forth.sender.address is AddressSpace.GUEST
        if redirecting and not guest and self._fabric.route(one, other) is None:
            locations = ";".join(root.location for root in redirecting)
            notes.append(_redirected(named, locations, iommu=pair.now.forth.write.iommu))
        if pair.place is Place.SYS and redirecting:
            notes.append(
                f"the two are on different sockets, and ReqRedir+ is on at {named}: "
                "expect failure, not only slowness"
            )
        if not guest and pair.apart is None:
            notes.append(self._by_p2pdma(pair))
        return tuple(filter(None, notes))

    def of_host(
        self, pairs: Sequence[Pair], senders: Iterable[Sender], platform: Platform
    ) -> tuple[str, ...]:
        """Return what is to be said of all pairs."""
        ports = self._above([f for p in pairs for f in (p.one.function, p.other.function)])
        flows = [flow for pair in pairs for flow in (pair.now.forth, pair.now.back)]
        ways = (stray(self._fabric, flow, self._controls_of) for flow in flows)
        notes = list(stray_notes(filter(None, ways)))
        if pairs and self._is_exonerated(ports):
            notes.append(
                "ACS is not what keeps any two of these apart: no port on any way has a control "
                "on that redirects or blocks" + self._only_validating(ports)
            )
        known = list(senders)
        if any(sender.address is AddressSpace.UNKNOWN for sender in known):
            notes.append(
                "whether an IOMMU translates what drivers use is not known here: a dump has no "
                "IOMMU groups; add /proc/cmdline to it, or run pcietune on the host"
            )
        release = platform.release
        if any(each.address is AddressSpace.GUEST and each.mapped is None for each in known) and (
            release is None or release < _IOMMUFD_MAPS_SINCE
        ):
            notes.append(
                "VMs by iommufd get no peers' BARs mapped before Linux 7.0, so that nothing goes "
                "between peers there; by VFIO's groups they do; which it is shows while a VM runs"
            )
        if pairs:
            notes += _misleading(platform)
        opened = [port for port in ports if self._is_opened(port)]
        if opened:
            notes.append(
                "the kernel's own p2pdma does not know DirectTrans, and may advise "
                "pci=disable_acs_redir= in dmesg: that would end the isolation of VMs here"
            )
        return tuple(notes)

    def _by_p2pdma(self, pair: Pair) -> str:
        """Return what the kernel's own peer-to-peer DMA makes of a pair; empty if nothing."""
        if pair.now.forth.write.outcome is not Outcome.VIA_ROOT_COMPLEX:
            return ""
        found = root_complex(self._fabric, pair.one.function, pair.other.function)
        named = " and ".join(found.ids) or "that is not known here"
        if found.trusted:
            return f"the kernel's p2pdma lets peers use this root complex ({named})"
        if found.trusted is None:
            return (
                f"whether the kernel's p2pdma lets peers use this root complex ({named}) is not "
                "known here: it does on AMD since Zen"
            )
        common = self._fabric.route(pair.one.function, pair.other.function)
        cleared = (
            ""
            if common is None
            else "; without redirection the two use bus addresses within their switch"
        )
        return (
            f"the kernel's p2pdma refuses this root complex ({named}), which is not in its list "
            f"(distance -1): what is forced through it may be lost or corrupt{cleared}"
        )

    def _above(self, functions: Iterable[PciFunction]) -> list[PciFunction]:
        """Return the ports above functions whose ACS decides, each once."""
        found = {
            port.address: port
            for function in functions
            for port in self._fabric.ports_above(function)
            if self._fabric.receives(port)
        }
        return [found[address] for address in sorted(found)]

    def _is_exonerated(self, ports: Iterable[PciFunction]) -> bool:
        """Return whether it is known of all that they neither redirect nor block."""
        if self._in_a_vm:
            return False
        for port in ports:
            controls = self._controls_of(port)
            if controls.enabled is None or controls.enabled & _MEDDLES:
                return False
            if controls.redirects_requests is not False:
                return False
        return True

    def _only_validating(self, ports: Iterable[PciFunction]) -> str:
        validation = AcsControl.SOURCE_VALIDATION
        on = any(self._controls_of(port).has(validation) for port in ports)
        name = LSPCI_NAMES[validation]
        return f"; {name}+ by itself redirects nothing" if on else ""

    def _is_opened(self, port: PciFunction) -> bool:
        controls = self._controls_of(port)
        direct = controls.has(AcsControl.DIRECT_TRANSLATED_P2P)
        return bool(direct and controls.redirects_requests)


def _misleading(platform: Platform) -> Iterator[str]:
    """Yield the words of the kernel command line on which somebody may rely in vain.

    A host that no profile describes is not judged, and would not hear of them otherwise.
    """
    options = [option.strip('"') for option in platform.pci_options]
    release = KernelRelease.parse(platform.kernel)
    for lint in lint_words((platform.cmdline or "").split(), options, release):
        if lint.severity is Severity.WARNING:
            yield f"{lint.token} on the kernel command line: {lint.reason}"


def _redirected(named: str, locations: str, *, iommu: bool | None) -> str:
    """Return what redirection at root ports does, and how it is ended so that it stays ended.

    Args:
        named: The root ports.
        locations: The same, for the kernel command line.
        iommu: Whether an IOMMU translates what goes between the two; None if not known.
    """
    sent = f"ReqRedir+ at {named} redirects requests between root ports"
    ended = f"pci=disable_acs_redir={locations} or config_acs="
    if iommu:
        sent = f"ReqRedir+ at {named} sends requests between root ports through the IOMMU"
        ended = f"{ended}, which ends that, or with iommu=pt, which ends its translating"
    else:
        ended = f"{ended}, which ends that"
    return (
        f"{sent}. Where nothing goes to VMs, boot with {ended}; the way stays via root complex. "
        "What is cleared at run time is lost with a reboot and leaves the IOMMU groups stale, if "
        "there are any"
    )
