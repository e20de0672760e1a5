"""Lays out what texts say of a host as a recorded tree, which all else then reads."""

from collections.abc import Mapping
from pathlib import Path

from pcietune import __version__
from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.host.dumps.group_listing import GroupListing
from pcietune.host.dumps.host_texts import HostTexts
from pcietune.host.dumps.lspci_dump import DumpedFunction
from pcietune.host.dumps.topology import ports_above, vf_device_id, virtual_functions
from pcietune.host.dumps.tree_places import check_places
from pcietune.host.dumps.verbose.unprinted import settle_unprinted
from pcietune.host.functions import DEVICES
from pcietune.host.iommu import GROUPS
from pcietune.host.platform import CMDLINE, OSRELEASE
from pcietune.host.recordings.manifest import MANIFEST, Manifest, UnreadConfig
from pcietune.host.recordings.new_tree import NewTree, room_for
from pcietune.host.recordings.recorded_config import UNPRIVILEGED_SIZES
from pcietune.registers.capability_list import CapabilityId, capabilities
from pcietune.registers.config_space import CONVENTIONAL_SIZE, EXTENDED_SIZE, ConfigBytes

_HEADER_TYPE = 0x0E
_LAYOUT = 0x7F  # bits 6:0 of Header Type
_SUBSYSTEM = 0x2C  # of a type 0 header: Subsystem Vendor ID and Subsystem ID, 16 bits each
_NO_ID = 0xFFFF  # what Vendor and Device ID of every VF read as, and all that does not answer
_NO_CLASS = 0xFFFFFF


def write_tree(texts: HostTexts, root: Path) -> None:
    """Write a recorded host below ``root``; what the texts do not tell is not there.

    Raises:
        BadInputError: The functions contradict each other.
        NotPermittedError: There is no room.
    """
    paths = _paths(texts)
    virtual = virtual_functions(texts.functions)
    physical = {vf: pf for pf, vfs in virtual.items() for vf in vfs}
    unread: dict[str, UnreadConfig] = {}
    tree = NewTree(root)
    with room_for(root):
        for address, function in texts.functions.items():
            parent = texts.functions.get(physical.get(address, address), function)
            _write_function(tree, paths[address], function, parent)
            lacking = what_lacks(function)
            if lacking is not None:
                unread[str(address)] = lacking
        for pf, vfs in virtual.items():
            tree.put(f"{paths[pf]}/sriov_numvfs", str(len(vfs)))
            for index, vf in enumerate(vfs):
                tree.link(f"{paths[pf]}/virtfn{index}", paths[vf])
                tree.link(f"{paths[vf]}/physfn", paths[pf])
        write_groups(tree, texts.listing, paths)
        for path, text in ((OSRELEASE, texts.release), (CMDLINE, texts.cmdline)):
            if text is not None:
                tree.put(path, text)
        manifest = Manifest(pcietune=__version__, unread=unread, complete=False)
        tree.put(MANIFEST, manifest.encode().decode())


def _paths(texts: HostTexts) -> Mapping[PciAddress, str]:
    """Return the directory of each function, as the kernel names it."""
    paths = {}
    above = ports_above(texts.functions.values())
    settle_unprinted(texts.functions, above)
    check_places(texts.tree, above)
    for address, ports in above.items():
        top = ports[0] if ports else address
        chain = "/".join(map(str, (*ports, address)))
        paths[address] = f"sys/devices/pci{top.domain:04x}:{top.bus:02x}/{chain}"
    return paths


def _write_function(
    tree: NewTree, path: str, function: DumpedFunction, parent: DumpedFunction
) -> None:
    """Write one function; the IDs of a VF are its PF's to tell."""
    if function.unread is None or function.unread.ranges[0][0]:
        tree.put(f"{path}/config", bytes(function.data))
    uevent = [
        f"PCI_CLASS={_class(function):X}",
        f"PCI_ID={_ids(function, parent)}",
        f"PCI_SUBSYS_ID={_subsystem(function)}",
        f"PCI_SLOT_NAME={function.address}",
    ]
    if function.driver is not None:
        uevent.append(f"DRIVER={function.driver}")
        tree.link(f"{path}/driver", f"sys/bus/pci/drivers/{function.driver}")
    tree.put(f"{path}/uevent", "\n".join(uevent))
    if function.numa_node is not None:
        tree.put(f"{path}/numa_node", str(function.numa_node))
    tree.link(f"{DEVICES}/{function.address}", path)


def _ids(function: DumpedFunction, parent: DumpedFunction) -> str:
    vendor, device = _word(function, 0x00), _word(function, 0x02)
    if vendor == _NO_ID and parent is not function:
        vendor, device = _word(parent, 0x00), vf_device_id(parent)
    elif vendor == _NO_ID and function.printed is not None:
        _, vendor, device = function.printed
    return f"{vendor:04X}:{device:04X}"


def _class(function: DumpedFunction) -> int:
    """Return the class code, 24 bits; of what does not answer as lspci printed it."""
    code = int.from_bytes(function.data[0x09:0x0C], "little")
    if code == _NO_CLASS and function.printed is not None:
        return function.printed[0] << 8
    return code


def _subsystem(function: DumpedFunction) -> str:
    """Return Subsystem Vendor ID and Subsystem ID; 0 of a bridge, which has them elsewhere."""
    if function.data[_HEADER_TYPE] & _LAYOUT:
        return "0000:0000"
    return f"{_word(function, _SUBSYSTEM):04X}:{_word(function, _SUBSYSTEM + 2):04X}"


def _word(function: DumpedFunction, offset: int) -> int:
    return int.from_bytes(function.data[offset : offset + 2], "little")


def what_lacks(function: DumpedFunction) -> UnreadConfig | None:
    """Return what the dump has not of a function's Configuration Space; None if it has all."""
    if function.unread is not None:
        return function.unread
    size = len(function.data)
    if size in UNPRIVILEGED_SIZES:
        return UnreadConfig(((size, EXTENDED_SIZE),))
    if size == CONVENTIONAL_SIZE and _is_express(function):
        return UnreadConfig(
            ((size, EXTENDED_SIZE),),
            f"the dump ends at {size:#05x}, as that of lspci -xxx does",
        )
    return None


def _is_express(function: DumpedFunction) -> bool:
    """Return whether a function has extended space, or may have it."""
    config = ConfigBytes(function.address, bytes(function.data))
    try:
        return any(c.id == CapabilityId.PCI_EXPRESS for c in capabilities(config))
    except PcietuneError:
        return True


def write_groups(tree: NewTree, listing: GroupListing, paths: Mapping[PciAddress, str]) -> None:
    """Write IOMMU groups with their members, and the links of those that have a directory."""
    for address, number in listing.groups.items():
        member = f"{DEVICES}/{address}"
        tree.link(f"{GROUPS}/{number}/devices/{address}", paths.get(address, member))
        if address in paths:
            tree.link(f"{paths[address]}/iommu_group", f"{GROUPS}/{number}")
    for number, text in listing.types.items():
        tree.put(f"{GROUPS}/{number}/type", text)
