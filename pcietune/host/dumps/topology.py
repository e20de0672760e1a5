"""Finds out from a dump's registers alone who is upstream of whom, and which functions are VFs."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.host.dumps.lspci_dump import DumpedFunction
from pcietune.registers.config_space import ConfigBytes
from pcietune.registers.express import Express, PortType
from pcietune.registers.sriov import SrIov

_HEADER_TYPE = 0x0E
_LAYOUT = 0x7F  # bits 6:0 of Header Type
_BRIDGES = (1, 2)  # PCI-to-PCI and CardBus: both have their bus numbers in the same place
_PRIMARY, _SECONDARY, _SUBORDINATE = 0x18, 0x19, 0x1A
_ID_SIZE = 2  # bytes of the Vendor ID
_ID_OF_A_VF = b"\xff\xff"  # and of what does not answer
_HINT = "dump the host again; a bridge whose bus numbers are wrong may be in reset"
_ALL_AT_ONCE = "dump all functions at once: lspci -D -xxxx"


@dataclass(frozen=True, slots=True)
class _Bridge:
    """A bridge and the buses below it; those of one bus are its secondary one."""

    function: DumpedFunction
    secondary: int
    subordinate: int

    def __str__(self) -> str:
        return f"{self.function.address} (buses {self.secondary:02x} to {self.subordinate:02x})"

    def contains(self, other: "_Bridge") -> bool:
        return self.secondary <= other.secondary and other.subordinate <= self.subordinate


def ports_above(functions: Iterable[DumpedFunction]) -> Mapping[PciAddress, tuple[PciAddress, ...]]:
    """Return the bridges above each function, from the root bus on.

    Raises:
        BadInputError: Bridges contradict each other.
    """
    of_domain: dict[int, list[DumpedFunction]] = {}
    for function in functions:
        of_domain.setdefault(function.address.domain, []).append(function)
    found: dict[PciAddress, tuple[PciAddress, ...]] = {}
    for members in of_domain.values():
        owners = _owners([b for f in members if (b := _bridge(f)) is not None])
        chains = _chains(owners)
        for function in members:
            _check_place(function, owners[function.address.bus])
            found[function.address] = chains[function.address.bus]
    return found


def virtual_functions(
    functions: Mapping[PciAddress, DumpedFunction],
) -> Mapping[PciAddress, Sequence[PciAddress]]:
    """Return the VFs of each PF that has some and tells where, as far as they are in the dump."""
    found: dict[PciAddress, Sequence[PciAddress]] = {}
    for function in functions.values():
        with suppress(PcietuneError):  # what is broken is judged where it matters
            virtual = [vf for vf in _virtual_functions(function) if vf in functions]
            if virtual:
                found[function.address] = virtual
    return found


def vf_device_id(function: DumpedFunction) -> int:
    """Return the Device ID that a PF's registers give its VFs, 16 bits."""
    sriov = SrIov.find(ConfigBytes(function.address, bytes(function.data)))
    return 0xFFFF if sriov is None else sriov.vf_device_id


def _bridge(function: DumpedFunction) -> _Bridge | None:
    """Return a bridge that leads somewhere, None for all other functions.

    Raises:
        BadInputError: The kernel would not have left it so (drivers/pci/probe.c,
            pci_scan_bridge_extend), but for a Primary Bus Number that some hard-wire to 0.
    """
    data, bus = function.data, function.address.bus
    if not data or data[_HEADER_TYPE] & _LAYOUT not in _BRIDGES or not data[_SECONDARY]:
        return None
    primary, secondary, subordinate = data[_PRIMARY : _SUBORDINATE + 1]
    if primary not in (0, bus) or secondary <= bus or subordinate < secondary:
        raise function.place.refused(
            f"{function.address}: bus numbers primary={primary:02x}, secondary={secondary:02x}, "
            f"subordinate={subordinate:02x} are wrong for a bridge on bus {bus:02x}",
            hint=_HINT,
        )
    return _Bridge(function, secondary, subordinate)


def _owners(bridges: Sequence[_Bridge]) -> list[_Bridge | None]:
    """Return for each bus the bridge that is next above it.

    Raises:
        BadInputError: Two claim a bus, and neither is above the other.
    """
    owners: list[_Bridge | None] = [None] * 0x100
    for bridge in sorted(bridges, key=lambda b: (b.secondary, -b.subordinate)):
        above = owners[bridge.secondary]
        if above is not None:
            _check(bridge, above)
        for bus in range(bridge.secondary, bridge.subordinate + 1):
            owners[bus] = bridge
    return owners


def _check(bridge: _Bridge, above: _Bridge) -> None:
    nested = above.secondary <= bridge.function.address.bus and above.contains(bridge)
    if not nested:
        raise bridge.function.place.refused(
            f"the bridges {bridge} and {above} claim the same buses", hint=_HINT
        )


def _check_place(function: DumpedFunction, above: _Bridge | None) -> None:
    """Refuse a function whose bridge is missing; VFs may be on buses that no bridge leads to.

    Raises:
        BadInputError: Its bus is among those below a bridge, but no bridge's secondary one; or
            it is an upstream port below none.
    """
    bus = function.address.bus
    if above is None:
        _check_top(function)
        return
    if bus == above.secondary or function.data[:_ID_SIZE] == _ID_OF_A_VF:
        return
    raise function.place.refused(
        f"{function.address}: no bridge here leads to bus {bus:02x}: one between it and {above} is "
        "missing, or does not answer",
        hint=_ALL_AT_ONCE,
    )


def _check_top(function: DumpedFunction) -> None:
    """Refuse a switch on a root bus: nobody would judge the ports above it.

    Raises:
        BadInputError: The function is an upstream port.
    """
    if _port_type(function) is PortType.UPSTREAM_PORT:
        raise function.place.refused(
            f"{function.address}: the root port above this upstream port of a switch is missing, "
            "or does not answer",
            hint=_ALL_AT_ONCE,
        )


def _port_type(function: DumpedFunction) -> PortType | None:
    """Return what kind of port it says to be; what is broken is judged where it matters."""
    with suppress(PcietuneError):
        express = Express.find(ConfigBytes(function.address, bytes(function.data)))
        return None if express is None else express.port_type
    return None


def _chains(owners: Sequence[_Bridge | None]) -> list[tuple[PciAddress, ...]]:
    """Return for each bus the bridges above it, from the root bus on."""
    chains: list[tuple[PciAddress, ...]] = []
    for bridge in owners:  # a bridge stands on a lower bus than all that are below it
        if bridge is None:
            chains.append(())
        else:
            address = bridge.function.address
            chains.append((*chains[address.bus], address))
    return chains


def _virtual_functions(function: DumpedFunction) -> list[PciAddress]:
    address = function.address
    sriov = SrIov.find(ConfigBytes(address, bytes(function.data)))
    if sriov is None or not sriov.enabled:
        return []
    physical = address.bus << 8 | address.device << 3 | address.function
    ids = (sriov.routing_id(physical, index) for index in range(sriov.count))
    return [PciAddress(address.domain, i >> 8, i >> 3 & 0x1F, i & 7) for i in ids]
