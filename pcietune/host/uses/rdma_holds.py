"""Who uses the RDMA device of a function, as the kernel counts it."""

import struct
from collections.abc import Iterator

from pcietune.host.uses.look import Look
from pcietune.host.uses.netlink import RDMA, attributes
from pcietune.model.hold import Hold, HoldKind

DEVICES = "sys/class/infiniband"

# include/uapi/rdma/rdma_netlink.h: RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET and its attributes
_GET_RESOURCES = (5 << 10) | 9
_DEVICE_NAME, _SUMMARY, _ENTRY, _ENTRY_NAME, _ENTRY_COUNT = 2, 15, 16, 17, 18
_USED = {
    "ctx": "contexts of processes",
    "cm_id": "connections",
}
"""What only a user has: queues and regions the driver itself has some of, always."""


def rdma_holds(look: Look, directory: str) -> Iterator[Hold]:
    """Yield the uses of the RDMA devices of the function whose directory this is.

    The kernel counts them, those of other namespaces and of its own modules included.
    """
    names = look.below(DEVICES, directory)
    if not names:
        if look.files.is_directory(f"{directory}/infiniband"):
            yield Hold(HoldKind.NOT_KNOWN, "has an RDMA device in another network namespace")
        return
    messages = look.ask(RDMA, _GET_RESOURCES, b"")
    counts = {} if messages is None else dict(map(_counts, messages))
    for name in names:
        of_device = counts.get(name, {})
        for resource, what in _USED.items():
            count = of_device.get(resource)
            if count is None:
                text = f"has {name}, of which the {what} cannot be counted"
                yield Hold(HoldKind.NOT_KNOWN, text)
            elif count:
                yield Hold(HoldKind.RDMA, f"has {name}, with {count} {what} of RDMA")


def _counts(message: bytes) -> tuple[str, dict[str, int]]:
    """Return a device's name, and how many it has of each resource."""
    found = dict(attributes(message))
    counts = {}
    for kind, entry in attributes(found.get(_SUMMARY, b"")):
        if kind == _ENTRY:
            of_entry = dict(attributes(entry))
            (count,) = struct.unpack("=Q", of_entry[_ENTRY_COUNT])
            counts[_text(of_entry[_ENTRY_NAME])] = count
    return _text(found.get(_DEVICE_NAME, b"")), counts


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")
