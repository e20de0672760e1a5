"""Lists that the kernel tells by netlink alone (include/uapi/linux/netlink.h)."""

import errno
import os
import socket
import struct
from collections.abc import Callable, Iterator

ROUTING = 0  # NETLINK_ROUTE
RDMA = 20  # NETLINK_RDMA

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_REQUEST_DUMP = 0x0301  # NLM_F_REQUEST | NLM_F_DUMP
_INTERRUPTED = 0x0010  # NLM_F_DUMP_INTR: what is listed changed meanwhile
_ERROR, _DONE = 2, 3
_TRIES = 5
_LONGEST = 0x10000  # bytes of one answer
_TIME_S = 2.0
_TYPE = 0x3FFF  # without the flags of nested and byte order

Dump = Callable[[int, int, bytes], list[bytes] | None]
"""Returns the messages about what a protocol's request asks for; None if it cannot be asked."""


def dump(protocol: int, request: int, body: bytes) -> list[bytes] | None:
    """Return the messages that answer a request, each without its header.

    Args:
        protocol: ROUTING or RDMA.
        request: Its type of message.
        body: What follows the message's header.

    Returns:
        None where the kernel does not know the protocol, or does not answer.
    """
    try:
        for _ in range(_TRIES):
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as asked:
                asked.settimeout(_TIME_S)
                length = _HEADER.size + len(body)
                asked.send(_HEADER.pack(length, request, _REQUEST_DUMP, 1, 0) + body)
                answer = _answer(asked)
            if answer is not None:
                return answer
    except OSError:
        return None
    return None


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and value of each attribute; what is cut off is left out."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4 or at + length > len(data):
            return
        yield kind & _TYPE, data[at + 4 : at + length]
        at += (length + 3) & ~3


def _answer(asked: socket.socket) -> list[bytes] | None:
    """Return all messages of an answer; None if it is not of one moment.

    Raises:
        OSError: The kernel refused.
    """
    found: list[bytes] = []
    whole = True
    while True:
        data = asked.recv(_LONGEST)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, flags, _, _ = _HEADER.unpack_from(data, at)
            message = data[at + _HEADER.size : at + length]
            whole = whole and not flags & _INTERRUPTED
            if kind == _DONE:
                return found if whole else None
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", message)
                raise OSError(-code or errno.EIO, os.strerror(-code or errno.EIO))
            found.append(message)
            at += (max(length, _HEADER.size) + 3) & ~3
