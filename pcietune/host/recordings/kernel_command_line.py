"""The kernel command line as it may be shown to others."""

import re

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')  # as the kernel's next_arg() splits it
_ALL_THAT_FOLLOWS_IS_FOR_INIT = "--"
_SHOWN = re.compile(
    r"(?:pci|pcie_\w+|iommu|intel_iommu|amd_iommu|iommu\.\w+|arm[-_]smmu[\w.-]*|vfio[\w.-]*"
    r"|pcietune|lockdown|modprobe\.blacklist|module_blacklist|default_hugepagesz|hugepagesz"
    r"|hugepages)="
)


def without_private_values(cmdline: str) -> str:
    """Return the command line with ``...`` for every value that says nothing about PCI.

    Such values name disks, hosts, networks and keys. What is meant for init is left out.
    """
    words = []
    for word in _WORD.findall(cmdline):
        if word == _ALL_THAT_FOLLOWS_IS_FOR_INIT:
            break
        name, equals, _ = word.partition("=")
        words.append(word if _SHOWN.match(word) or not equals else f"{name}=...")
    return " ".join(words)
