"""Whether a dump has the bridges above what it has: an excerpt would show another fabric."""

from collections.abc import Iterable

from pcietune.errors import BadInputError
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction

_HINT = "dump all functions at once: lspci -D -xxxx or lspci -D -nnvvv, as root"


def check_whole(fabric: Fabric, functions: Iterable[PciFunction]) -> None:
    """Do nothing if each function may be where a dump has it.

    On bus 0 a function may be without a bridge above it, as in VMs. On another root bus there are
    only root ports and what is integrated into the root complex, no GPU, NIC or drive.

    Raises:
        BadInputError: The bridges above one are missing: routes would be those of another host.
    """
    for function in functions:
        top = fabric.ports_above(function)[0] if function.ports else function
        lost = top.address.bus != 0 and not top.is_pci_bridge
        if lost or (top.is_pci_bridge and fabric.false_port_type(top) is not None):
            raise BadInputError(
                f"no bridge here leads to bus {top.address.bus:02x} of {top.address}: this is an "
                "excerpt, and where packets go is not known from it",
                hint=_HINT,
            )
