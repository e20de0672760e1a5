"""What sysfs says of one function's state and link."""

import re

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError
from pcietune.host.host_files import HostFiles
from pcietune.model.function import FunctionState, LinkState
from pcietune.model.not_known import NOT_KNOWN, NotKnown

_MOST_LANES = 32
_SPEED = re.compile(r"[0-9]{1,3}(\.[0-9])? GT/s( PCIe)?")


def read_state(files: HostFiles, path: str, address: PciAddress) -> FunctionState:
    """Return the state of the function at ``address``, whose directory is ``path``.

    No register is read for it.

    Raises:
        ConfigSpaceError: The function vanished.
        BadInputError: A link of a recording leads out of it.
    """
    numa_node = files.number(f"{path}/numa_node")
    if numa_node is None and files.complete:
        numa_node = -1  # the kernel does without NUMA
    physical_function = _function_behind(files, f"{path}/physfn")
    state = FunctionState(
        group=_group(files, f"{path}/iommu_group"),
        iommu_unit=files.link_name(f"{path}/iommu"),
        numa_node=numa_node,
        enable_count=files.number(f"{path}/enable"),
        physical_function=physical_function,
        virtual_functions=_virtual_functions(files, path),
        vfio=_is_given_to_vfio(files, path),
    )
    _check_presence(files, path, address)
    return state


def _is_given_to_vfio(files: HostFiles, path: str) -> bool | None:
    """Return whether a VFIO driver has the function; None if not known.

    Since 6.1 (kernel commit 3c28a76124b2) such a driver makes ``vfio-dev`` below it. Before, its
    name is all that tells: vfio-pci, or a variant of it such as mlx5_vfio_pci.
    """
    driver = files.link_name(f"{path}/driver")
    if files.is_directory(f"{path}/vfio-dev"):
        return True
    if driver is not None:
        return driver.replace("_", "-").endswith("vfio-pci")
    return False if files.complete else None


def read_link(files: HostFiles, path: str, address: PciAddress) -> LinkState:
    """Return the link of the function at ``address``; a VF has none of its own.

    The kernel reads Link Status for it (drivers/pci/pci-sysfs.c, current_link_speed_show).

    Raises:
        ConfigSpaceError: The function vanished.
        BadInputError: A link of a recording leads out of it.
    """
    if files.link_name(f"{path}/physfn") is not None:
        return LinkState(speed=None, width=None, max_speed=None, max_width=None)
    link = LinkState(
        speed=_speed(files.text(f"{path}/current_link_speed")),
        width=_width(files.number(f"{path}/current_link_width")),
        max_speed=_speed(files.text(f"{path}/max_link_speed")),
        max_width=_width(files.number(f"{path}/max_link_width")),
    )
    _check_presence(files, path, address)
    return link


def number_of_virtual_functions(files: HostFiles, path: str) -> int:
    """Return how many VFs a function has, at most as many as NumVFs, of 16 bits, can say."""
    return min(files.number(f"{path}/sriov_numvfs") or 0, 0xFFFF)


def _check_presence(files: HostFiles, path: str, address: PciAddress) -> None:
    if not files.exists(f"{path}/uevent"):
        raise ConfigSpaceError(
            f"{address} vanished while it was looked at",
            hint="was it unplugged or removed? run pcietune again",
        )


def _group(files: HostFiles, link: str) -> int | NotKnown | None:
    name = files.link_name(link)
    if name is None:
        return None if files.complete else NOT_KNOWN
    return int(name) if name.isdecimal() else None


def _speed(text: str | None) -> str | None:
    """Return the speed as printed; of a link that is down the kernel says ``Unknown``."""
    return text if text is not None and _SPEED.fullmatch(text) else None


def _width(lanes: int | None) -> int | None:
    """Return the width; of a link that is down it is 0, and none has more than 32 lanes."""
    return lanes if lanes is not None and 1 <= lanes <= _MOST_LANES else None


def _virtual_functions(files: HostFiles, path: str) -> tuple[PciAddress, ...]:
    """Return the VFs in order; the directory is not listed for it, since it holds scores."""
    count = number_of_virtual_functions(files, path)
    found = (_function_behind(files, f"{path}/virtfn{index}") for index in range(count))
    return tuple(address for address in found if address is not None)


def _function_behind(files: HostFiles, link: str) -> PciAddress | None:
    name = files.link_name(link)
    try:
        return None if name is None else PciAddress.parse(name)
    except BadInputError:
        return None
