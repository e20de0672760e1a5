"""Hosts whose switches carry more than one NIC, or stand below each other."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost


def two_switches(root: Path, *, instead: Iterable[Function] = ()) -> TreeHost:
    """Return a host with two switches of one GPU and two NICs each, all without a driver.

    The first: root port 20:01.0, upstream port 21:00.0, downstream ports 22:00.0 (GPU 23:00.0),
    22:04.0 (NIC 24:00.0) and 22:08.0 (NIC 25:00.0). The second: the same at 40:01.0 and on.
    ``instead`` has functions that take the places of those with the same address.
    """
    return _host(root, [f for bus in (0x20, 0x40) for f in _switch(bus)], instead)


def cascade(root: Path, *, second_nic: bool = False, instead: Iterable[Function] = ()) -> TreeHost:
    """Return a host with two leaf switches below a top switch.

    Root port 20:01.0, top upstream port 21:00.0. Below its port 22:00.0 a leaf (23:00.0) with GPU
    25:00.0 at port 24:00.0 and NIC 26:00.0 at port 24:04.0. Below its port 22:04.0 a leaf
    (27:00.0) with GPU 29:00.0 at port 28:00.0 and, if there is a second NIC, that (2a:00.0) at
    port 28:04.0. ``instead`` as for ``two_switches``.
    """
    return _host(root, cascade_functions(second_nic=second_nic), instead)


def cascade_functions(*, second_nic: bool = False) -> list[Function]:
    """Return the functions of ``cascade``."""
    functions = [
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0"),
        upstream_port("0000:23:00.0", below="0000:22:00.0"),
        downstream_port("0000:24:00.0", below="0000:23:00.0"),
        downstream_port("0000:24:04.0", below="0000:23:00.0"),
        gpu("0000:25:00.0", below="0000:24:00.0"),
        nic("0000:26:00.0", below="0000:24:04.0"),
        upstream_port("0000:27:00.0", below="0000:22:04.0"),
        downstream_port("0000:28:00.0", below="0000:27:00.0"),
        gpu("0000:29:00.0", below="0000:28:00.0"),
    ]
    if second_nic:
        functions += [
            downstream_port("0000:28:04.0", below="0000:27:00.0"),
            nic("0000:2a:00.0", below="0000:28:04.0"),
        ]
    return functions


def _switch(bus: int) -> list[Function]:
    up, down = f"0000:{bus + 1:02x}:00.0", f"0000:{bus + 2:02x}"
    return [
        root_port(f"0000:{bus:02x}:01.0"),
        upstream_port(up, below=f"0000:{bus:02x}:01.0"),
        downstream_port(f"{down}:00.0", below=up),
        downstream_port(f"{down}:04.0", below=up),
        downstream_port(f"{down}:08.0", below=up),
        gpu(f"0000:{bus + 3:02x}:00.0", below=f"{down}:00.0"),
        nic(f"0000:{bus + 4:02x}:00.0", below=f"{down}:04.0"),
        nic(f"0000:{bus + 5:02x}:00.0", below=f"{down}:08.0"),
    ]


def _host(root: Path, functions: Iterable[Function], instead: Iterable[Function]) -> TreeHost:
    """Return a host with an Intel IOMMU, where each function has a group of its own."""
    others = {function.address: function for function in instead}
    host = TreeHost(root)
    host.intel_iommu("dmar0")
    for number, function in enumerate(functions):
        chosen = others.get(function.address, function)
        host.add(replace(chosen, group=number, iommu="dmar0"))
    return host
