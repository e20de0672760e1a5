"""Netlink: this machine's own kernel answers, and says the same in procfs."""

import re
import socket
import struct
from pathlib import Path

from pcietune.host.uses.netlink import ROUTING, attributes, dump

ADDRESSES = 22  # RTM_GETADDR
LOCAL = 2  # IFA_LOCAL
UNKNOWN_PROTOCOL = 31


def test_the_addresses_of_ipv4_are_those_that_the_kernel_routes_to_itself() -> None:
    trie = Path("/proc/net/fib_trie").read_text()
    own = set(re.findall(r"\|-- ([\d.]+)\n +/32 host LOCAL", trie))

    messages = dump(ROUTING, ADDRESSES, bytes(8))

    assert messages is not None
    told = [dict(attributes(m[8:]))[LOCAL] for m in messages if m[0] == socket.AF_INET]
    assert {socket.inet_ntop(socket.AF_INET, each) for each in told} == own


def test_interface_and_scope_of_each_address_of_ipv6_are_those_of_procfs() -> None:
    file = Path("/proc/net/if_inet6")
    rows = [row.split() for row in file.read_text().splitlines()] if file.exists() else []
    link_scope = "20"  # IPV6_ADDR_LINKLOCAL (include/net/ipv6.h)

    messages = [m for m in dump(ROUTING, ADDRESSES, bytes(8)) or () if m[0] == socket.AF_INET6]

    told = [struct.unpack_from("=BBBBI", m) for m in messages]
    assert sorted((index, scope == 253) for _, _, _, scope, index in told) == sorted(
        (int(row[1], 16), row[3] == link_scope) for row in rows
    )


def test_a_protocol_that_the_kernel_does_not_know_is_not_an_empty_list() -> None:
    assert dump(UNKNOWN_PROTOCOL, ADDRESSES, b"") is None


def test_a_request_that_the_kernel_refuses_is_not_an_empty_list() -> None:
    assert dump(ROUTING, 0x3FFF, bytes(8)) is None


def test_attributes_are_padded_to_four_bytes_and_lose_the_flag_of_nesting() -> None:
    data = struct.pack("=HH5s3xHH2s2x", 9, 3, b"eth0\0", 6, 0x8000 | 15, b"ab")

    assert list(attributes(data)) == [(3, b"eth0\0"), (15, b"ab")]


def test_what_is_cut_off_is_no_attribute() -> None:
    data = struct.pack("=HHI", 8, 1, 7) + struct.pack("=HH", 64, 2)

    assert list(attributes(data)) == [(1, struct.pack("=I", 7))]
    assert list(attributes(b"\0\0\0\0")) == []
