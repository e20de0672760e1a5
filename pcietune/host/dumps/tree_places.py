"""Holds a tree of ``lspci -t`` against a dump, and adds the functions that only the tree has."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.host.dumps.lspci_dump import DumpedFunction
from pcietune.host.dumps.lspci_tree import TreeFunction
from pcietune.host.recordings.manifest import UnreadConfig
from pcietune.registers.config_space import EXTENDED_SIZE

_HEADER_SIZE = 0x40  # bytes
_HEADER_TYPE, _BRIDGE = 0x0E, 1  # type 1: PCI-to-PCI bridge
_PRIMARY = 0x18  # and then Secondary and Subordinate Bus Number
_CLASS = 0x09  # Class Code, 24 bits
_PCI_BRIDGE = 0x060400
_NOT_TOLD = 0xFFFF, 0xFFFF, 0xFFFF
_UNREAD = UnreadConfig(((0, EXTENDED_SIZE),), "lspci -t prints no registers")
_ANOTHER = "they are of different hosts, or boots: leave one out"


def add_functions(
    functions: dict[PciAddress, DumpedFunction], tree: Mapping[PciAddress, TreeFunction]
) -> None:
    """Add what only a tree tells of functions that have no bytes in any dump.

    Their header has what the tree tells of it and ones elsewhere; none of it counts as read.

    Raises:
        BadInputError: A dump has a function that the tree lacks, which has all of a host.
    """
    for function in functions.values():
        if tree and function.address not in tree:
            first = next(iter(tree.values())).place
            raise function.place.refused(
                f"{function.address} is not in the tree in {first.source}", hint=_ANOTHER
            )
    for address, drawn in tree.items():
        function = functions.setdefault(address, DumpedFunction(address, drawn.place))
        if not function.data:
            function.data = _header(drawn, function.printed)
            function.unread = _UNREAD


def check_places(
    tree: Mapping[PciAddress, TreeFunction], ports: Mapping[PciAddress, tuple[PciAddress, ...]]
) -> None:
    """Do nothing if each function of a tree stands where the registers have it.

    Raises:
        BadInputError: One stands below other bridges.
    """
    for address, drawn in tree.items():
        if ports[address] != drawn.above:
            raise drawn.place.refused(
                f"{address} is {_below(drawn.above)} here, and {_below(ports[address])} in the "
                "dump",
                hint=_ANOTHER,
            )


def _below(above: tuple[PciAddress, ...]) -> str:
    return f"below {above[-1]}" if above else "on a root bus"


def _header(drawn: TreeFunction, printed: tuple[int, int, int] | None) -> bytearray:
    device_class, vendor, device = printed or _NOT_TOLD
    vendor, device = drawn.ids or (vendor, device)
    header = bytearray(_HEADER_SIZE)
    header[0:2] = vendor.to_bytes(2, "little")
    header[2:4] = device.to_bytes(2, "little")
    header[_CLASS : _CLASS + 3] = (device_class << 8 | 0xFF).to_bytes(3, "little")
    if drawn.buses is not None:
        header[_CLASS : _CLASS + 3] = _PCI_BRIDGE.to_bytes(3, "little")
        header[_HEADER_TYPE] = _BRIDGE
        header[_PRIMARY : _PRIMARY + 3] = bytes((drawn.address.bus, *drawn.buses))
    return header
