"""Where a function sits in the fabric, written as the kernel's ``pci=`` options take it.

``0000:20:00.0/00.0/02.0/00.0`` is the root port's address and then Device and Function Number of
each hop down. It survives a renumbering of the buses below (drivers/pci/pci.c, pci_dev_str_match).
On the udev hook's path: nothing imported but what the hook may.
"""

from pcietune.address import PciAddress


def location(ports: tuple[PciAddress, ...], address: PciAddress) -> str:
    """Return the path of the function at ``address`` below ``ports``, root port first."""
    first, *hops = (*ports, address)
    return "/".join([str(first), *(hop.devfn for hop in hops)])


def location_order(location: str) -> tuple[int, str]:
    """Return the key that sorts locations as lspci sorts addresses, wide domains last.

    Anything that is no location (an IOMMU unit's name) sorts after all locations of its width.
    """
    return (len(location.partition(":")[0]), location)
