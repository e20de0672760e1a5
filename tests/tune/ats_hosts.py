"""Hosts of one switch whose NIC has some ATS, behind some IOMMU."""

from pathlib import Path

from trees.config import ConfigBuilder
from trees.function import Function, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import NIC, NIC_PORT

NIC_GROUP = 5  # in one_switch
PAGE_ALIGNED = 0x0020  # ATS Capability
ENABLED = 0x8000  # ATS Control
OFF = (PAGE_ALIGNED, 0)
ON = (PAGE_ALIGNED, ENABLED)


def host(
    root: Path,
    ats: tuple[int, int] | None,
    *,
    driver: str | None = None,
    domain: str = "DMA-FQ",
    in_use: bool = False,
) -> TreeHost:
    """Return the host of one switch whose NIC has this ATS, in a domain of this type."""
    fitted = nic(NIC, below=NIC_PORT, driver=driver, ats=ats)
    fitted.attributes["enable"] = "1" if in_use else "0"
    tree = one_switch(root, instead=[fitted])
    tree.group_type(NIC_GROUP, domain)
    return tree


def behind(tree: TreeHost, unit: str) -> TreeHost:
    """Put the NIC behind another IOMMU."""
    link = tree.directory(NIC) / "iommu"
    link.unlink()
    link.symlink_to((tree.root / "sys/class/iommu" / unit).resolve())
    return tree


def amd(tree: TreeHost) -> TreeHost:
    """Put the NIC behind an AMD IOMMU with device TLB support (bit 24)."""
    tree.add(Function("0000:00:00.2", ConfigBuilder("1022:149e", 0x080600)))
    tree.amd_iommu("ivhd0", below="0000:00:00.2", cap=0x0100_0000)
    return behind(tree, "ivhd0")


def arm(tree: TreeHost, unit: str = "smmu3.0x0000000010000000") -> TreeHost:
    """Put the NIC behind an ARM SMMU, of version 3 if its name says so."""
    tree.arm_iommu(unit)
    return behind(tree, unit)
