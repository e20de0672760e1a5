"""A host whose IOMMU may answer a VM's functions with addresses of the VM."""

from dataclasses import replace
from pathlib import Path

from trees.function import ACS_CAPABLE, downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost


def behind_an_iommu(root: Path, *, known: bool, control: int = 0x005D) -> Path:
    """Return VMs' GPU and NIC below a switch, behind an IOMMU.

    Args:
        root: Where the host is written.
        known: Whether the IOMMU is Intel's, which answers with host addresses; else it is one of
            which that is not known.
        control: ACS Control of the switch's port above the NIC, 005dh being with DirectTrans.
    """
    tree = TreeHost(root)
    name = "dmar0" if known else "10010000.iommu"
    if known:
        tree.intel_iommu(name)
    else:
        unit = f"sys/devices/platform/soc/{name}/iommu/{name}"
        (root / unit).mkdir(parents=True)
        tree.link(f"sys/class/iommu/{name}", unit)
    functions = [
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0", acs=(ACS_CAPABLE, control)),
        gpu("0000:23:00.0", below="0000:22:00.0", driver="vfio-pci"),
        nic("0000:24:00.0", below="0000:22:04.0", driver="vfio-pci"),
    ]
    tree.add(*(replace(f, group=number, iommu=name) for number, f in enumerate(functions)))
    return root
