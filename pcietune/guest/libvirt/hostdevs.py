"""A plan's functions as libvirt's host devices."""

from collections import Counter

from pcietune.address import PciAddress
from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Backend
from pcietune.guest.libvirt.controllers import alias, controller_indexes, pci_address
from pcietune.guest.libvirt.element import Element, element
from pcietune.guest.plan import Plan


def hostdevs(plan: Plan, first_index: int) -> list[Element]:
    """Return a host device for each function, in the order of their addresses in the VM.

    None is managed: libvirt would bind it to VFIO by itself, unverified, and give it back to its
    native driver when the VM stops.

    Args:
        plan: The plan.
        first_index: Index of the first bridge's controller.
    """
    indexes = controller_indexes(plan, first_index)
    siblings = Counter(each.parent for each in plan.functions)
    iommufd = plan.machine.backend is Backend.IOMMUFD
    return [
        element("hostdev", mode="subsystem", type="pci", managed="no").with_content(
            element("driver", name="vfio", iommufd="yes" if iommufd else None),
            element("source").with_content(_source(each)),
            element("alias", name=alias(each.name)),
            pci_address(indexes[each.parent], 0, each.function, shared=siblings[each.parent] > 1),
        )
        for each in sorted(plan.functions, key=lambda each: each.guest_address)
    ]


def _source(function: Passed) -> Element:
    address = PciAddress.parse(function.address)
    return element(
        "address",
        domain=f"{address.domain:#06x}",
        bus=f"{address.bus:#04x}",
        slot=f"{address.device:#04x}",
        function=f"{address.function:#x}",
    )
