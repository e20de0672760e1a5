"""What live registers imply about isolation, by the rule that the kernel forms groups by.

A function is apart from its neighbours if each port up to the root has SrcValid, ReqRedir,
CmpltRedir and UpstreamFwd on, or does not implement them (drivers/iommu/iommu.c, REQ_ACS_FLAGS;
drivers/pci/pci.c, pci_acs_enabled). Groups are not formed anew here: this only says where two
functions reach each other now.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.acs import LSPCI_NAMES, AcsControl
from pcietune.registers.express import PortType
from pcietune.tune.port_acs import built_in_controls, find_acs
from pcietune.tune.vfio_use import ISOLATION

_NOTHING = AcsControl(0)
_CHECKED = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)
_NEVER_ISOLATING = (PortType.PCIE_TO_PCI_BRIDGE, PortType.PCI_TO_PCIE_BRIDGE)
"""Linux looks for no ACS in them, whatever they have (drivers/pci/pci.c, pci_acs_enabled)."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A port, or a function of several in one slot, that does not keep functions apart.

    Attributes:
        at: It.
        missing: What of isolation is off there; None where it has no ACS capability.
        inside: Functions below it, or itself.
        peers: Functions that those reach, and that reach them; without UpstreamFwd also those
            of ``inside``, whose redirected requests are turned around there.
    """

    at: PciFunction
    missing: AcsControl | None
    inside: tuple[PciFunction, ...]
    peers: tuple[PciFunction, ...]

    @property
    def why(self) -> str:
        """What is off there, after its address in a sentence."""
        if self.missing is None:
            return "has no ACS capability"
        return f"has {' '.join(f'{LSPCI_NAMES[control]}-' for control in self.missing)}"

    @property
    def only_source_validation(self) -> bool:
        """Whether only SrcValid is off, which gives peers no way by itself."""
        return self.missing == AcsControl.SOURCE_VALIDATION


def read_openings(
    host: HostAccess, fabric: Fabric, functions: Iterable[PciFunction]
) -> Iterator[Opening | PcietuneError]:
    """Yield every opening between ``functions`` and others below the same root ports.

    Each port is read once. What could not be read comes as the error.
    """
    seen: set[PciAddress] = set()
    for function in functions:
        for suspect in (*_ports_that_matter(fabric, function), function):
            if suspect.address in seen:
                continue
            seen.add(suspect.address)
            try:
                found = _opening(host, fabric, suspect)
            except PcietuneError as error:
                yield error
                continue
            if found is not None:
                yield found


def reach_each_other(openings: Iterable[Opening], one: PciFunction, other: PciFunction) -> bool:
    """Return whether two functions reach each other through any of the openings."""
    return any(
        (one in opening.inside and other in opening.peers)
        or (other in opening.inside and one in opening.peers)
        for opening in openings
    )


def acs_override(host: HostAccess) -> str | None:
    """Return the word that makes the kernel take ports for isolating that are not; mostly None.

    ``pcie_acs_override=`` is a patch that some distributions carry; it changes no register.
    """
    words = (host.platform().cmdline or "").split()
    return next((word for word in words if word.startswith("pcie_acs_override=")), None)


def companions(host: HostAccess, fabric: Fabric, function: PciFunction) -> tuple[PciFunction, ...]:
    """Return the other functions of a device with several; VFs are none of these.

    Raises:
        ConfigSpaceError: One vanished.
    """
    above = fabric.ports_above(function)
    beside = fabric.children(above[-1]) if above else ()
    slot = [other for other in beside if other.slot == function.slot]
    if len(slot) == 1:
        return ()
    several = [other for other in slot if host.state(other).physical_function is None]
    return tuple(o for o in several if o.address != function.address) if function in several else ()


def _ports_that_matter(fabric: Fabric, function: PciFunction) -> Iterator[PciFunction]:
    """Yield the ports above, and those that part from them in a switch and carry anything."""
    above = fabric.ports_above(function)
    for port in above:
        yield port
        if fabric.port_type(port) is not PortType.UPSTREAM_PORT:
            continue
        for beside in fabric.children(port):
            if beside.is_pci_bridge and beside not in above and _endpoints(fabric, beside):
                yield beside


def _opening(host: HostAccess, fabric: Fabric, suspect: PciFunction) -> Opening | None:
    if not suspect.is_pci_bridge:
        return _between_functions(host, fabric, suspect)
    kind = fabric.port_type(suspect)
    if kind in _NEVER_ISOLATING:
        inside = _endpoints(fabric, suspect)
        return Opening(suspect, None, inside, inside) if len(inside) > 1 else None
    several = kind is PortType.UPSTREAM_PORT and bool(companions(host, fabric, suspect))
    if kind not in _CHECKED and not several:
        return None
    missing = _missing(host, suspect)
    if missing is None and _kernel_knows_more(host, fabric, suspect):
        return None
    inside = _endpoints(fabric, suspect)
    peers = _beside(fabric, suspect) if kind is PortType.DOWNSTREAM_PORT else inside
    if missing is not None and AcsControl.UPSTREAM_FORWARDING not in missing and peers != inside:
        peers = tuple(peer for peer in peers if peer not in inside)
    return None if missing == _NOTHING else Opening(suspect, missing, inside, peers)


def _between_functions(host: HostAccess, fabric: Fabric, function: PciFunction) -> Opening | None:
    """Return what is open between the functions of one slot.

    One without ACS was grouped with the others, unless the kernel knows it to keep them apart
    (pci_dev_acs_enabled, drivers/pci/quirks.c) or is made to say so.
    """
    others = companions(host, fabric, function)
    if not others:
        return None
    missing = _missing(host, function)
    if missing is None and acs_override(host) is None:
        return None
    return None if missing == _NOTHING else Opening(function, missing, (function,), others)


def _missing(host: HostAccess, function: PciFunction) -> AcsControl | None:
    """Return what is off though it is there to be turned on; None without ACS and its like."""
    acs = find_acs(host, function)
    if acs is not None:
        return acs.supported & ~acs.enabled & ISOLATION
    built_in = built_in_controls(function)
    return ISOLATION & ~built_in if built_in else None


def _kernel_knows_more(host: HostAccess, fabric: Fabric, port: PciFunction) -> bool:
    """Return whether the kernel keeps apart what is below a root port without ACS.

    A port cannot lose the capability, so the kernel then knows the device to isolate all the same
    (pci_dev_acs_enabled, drivers/pci/quirks.c), and is believed. The only downstream ports of
    switches in that table are a quirk of ours.
    """
    if fabric.port_type(port) is not PortType.ROOT_PORT or acs_override(host) is not None:
        return False
    own = host.state(port).group
    return all(host.state(child).group != own for child in fabric.children(port))


def _endpoints(fabric: Fabric, port: PciFunction) -> tuple[PciFunction, ...]:
    return tuple(f for f in fabric.below(port) if not f.is_pci_bridge)


def _beside(fabric: Fabric, port: PciFunction) -> tuple[PciFunction, ...]:
    """Return what is below the switch of a downstream port, what is below the port included."""
    above = fabric.ports_above(port)
    return _endpoints(fabric, above[-1]) if above else ()
