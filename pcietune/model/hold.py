"""What the host's own software has of a function, so that it cannot be taken from its driver."""

from dataclasses import dataclass
from enum import StrEnum


class HoldKind(StrEnum):
    """Why a function stays with the host."""

    BOND = "bond"
    BRIDGE = "bridge"
    VLAN = "vlan"
    OVS = "ovs"
    OTHER_UPPER = "other-upper"  # team, macvlan and whatever else stands on an interface
    ADDRESS = "address"
    ROUTE = "route"
    RDMA = "rdma"  # a user-space context, or a kernel consumer
    NVME_FABRICS = "nvme-fabrics"
    VFS = "vfs"
    DISK = "disk"  # a holder, a mount or swap
    OPEN = "open"  # a process has the device open, as the nvidia driver's
    REMEMBERED = "remembered"  # when apply was last run by hand
    NOT_KNOWN = "not-known"  # could not be found out, so it counts


@dataclass(frozen=True, slots=True)
class Hold:
    """One thing that holds a function.

    Attributes:
        kind: What kind of thing.
        text: What exactly, as a phrase behind the function's address: ``is a member of bond0``.
    """

    kind: HoldKind
    text: str
