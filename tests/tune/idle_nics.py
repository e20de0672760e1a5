"""Hosts whose NIC's ATS is to be ensured or forced."""

from dataclasses import replace
from pathlib import Path

from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import word
from tune.judged import NIC, NIC_PORT
from tune.live_kernel import ats_control
from tune.profiles import VM, with_mode

from pcietune.model.profile import AtsPolicy, Profile

NIC_GROUP = 5  # in one_switch
PAGE_ALIGNED = 0x0020  # ATS Capability
NIC_LOCATION = "0000:20:01.0/00.0/04.0/00.0"
SWITCH_GROUP = "0000:20:01.0/00.0"


def wanting(policy: AtsPolicy) -> Profile:
    """Return the profile that wants this of ATS in mode vm."""
    return with_mode(replace(VM, ats=policy))


ENSURE = wanting(AtsPolicy.ENSURE)
FORCE = wanting(AtsPolicy.FORCE)


def idle(
    root: Path, domain: str = "identity", control: int = 0, *, driver: str | None = None
) -> TreeHost:
    """Return a host whose NIC has this ATS Control, idle in a domain of this type."""
    fitted = nic(NIC, below=NIC_PORT, driver=driver, ats=(PAGE_ALIGNED, control))
    tree = one_switch(root, instead=[fitted])
    tree.group_type(NIC_GROUP, domain)
    return tree


def type_of(tree: TreeHost, number: int = NIC_GROUP) -> str:
    """Return the type of an IOMMU group."""
    return (tree.root / f"sys/kernel/iommu_groups/{number}/type").read_text().strip()


def ats_word(tree: TreeHost, address: str = NIC) -> int:
    """Return a function's ATS Control."""
    at = ats_control(tree, address)
    assert at is not None
    return word(tree, address, at)
