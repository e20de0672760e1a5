"""Whole hosts, for tests that need one but do not care which."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost


def one_switch(
    root: Path,
    *,
    driver: str | None = None,
    iommu: bool = True,
    instead: Iterable[Function] = (),
) -> TreeHost:
    """Return a host with one GPU (23:00.0) and one NIC (24:00.0) below one switch.

    Root port 20:01.0, upstream port 21:00.0, downstream ports 22:00.0 (GPU) and 22:04.0 (NIC).

    Args:
        root: The directory that stands for the host's ``/``.
        driver: What is bound to GPU and NIC.
        iommu: Whether an Intel IOMMU with a device TLB is on: then every function has an IOMMU
            group of its own, numbered from 0 in the order of addresses.
        instead: Functions that take the places of those with the same address.
    """
    host = TreeHost(root)
    others = {function.address: function for function in instead}
    functions = (
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0"),
        gpu("0000:23:00.0", below="0000:22:00.0", driver=driver),
        nic("0000:24:00.0", below="0000:22:04.0", driver=driver),
    )
    chosen = [others.get(function.address, function) for function in functions]
    if iommu:
        host.intel_iommu("dmar0")
        chosen = [
            replace(function, group=number, iommu="dmar0") for number, function in enumerate(chosen)
        ]
    host.add(*chosen)
    return host
