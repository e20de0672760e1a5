"""Whole hosts, for tests that need one but do not care which."""

from dataclasses import replace
from pathlib import Path

from trees.function import downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost


def one_switch(root: Path, *, driver: str | None = None) -> TreeHost:
    """Return a host with one GPU (23:00.0) and one NIC (24:00.0) below one switch.

    Root port 20:01.0, upstream port 21:00.0, downstream ports 22:00.0 (GPU) and 22:04.0 (NIC).
    Every function has an IOMMU group of its own; ``driver`` is bound to GPU and NIC.
    """
    host = TreeHost(root)
    host.intel_iommu("dmar0")
    functions = (
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0"),
        gpu("0000:23:00.0", below="0000:22:00.0", driver=driver),
        nic("0000:24:00.0", below="0000:22:04.0", driver=driver),
    )
    host.add(
        *(
            replace(function, group=number, iommu="dmar0")
            for number, function in enumerate(functions)
        )
    )
    return host
