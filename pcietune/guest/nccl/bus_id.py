"""Bus ids as NCCL compares them: strings, with those of NICs rounded."""

import re

from pcietune.address import PciAddress

FORM = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
"""What sysfs and CUDA call a function; NCCL's buffers hold no wider domain."""

_ANY_CASE = re.compile(FORM.pattern, re.IGNORECASE)


def nic_bus_id(address: PciAddress, *, merge_vfs: bool) -> str:
    """Return by what id NCCL looks for a NIC: the functions of a device are one NIC to it.

    Source: src/transport/net_ib, which puts 0 for the function digit and, unless
    ``NCCL_IB_MERGE_VFS=0``, for the device digits too.
    """
    device = 0 if merge_vfs else address.device
    return str(PciAddress(address.domain, address.bus, device, 0))


def is_bus_id(text: str) -> bool:
    """Return whether a text has the form of a bus id, in whatever case."""
    return _ANY_CASE.fullmatch(text) is not None
