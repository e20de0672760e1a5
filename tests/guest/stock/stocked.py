"""A host tree, and what it has for VMs."""

from collections.abc import Mapping
from dataclasses import replace

from trees.function import nic
from trees.host import TreeHost
from tune.faults import set_word
from tune.judged import opened
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.guest.stock.beside import Beside
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.stock.take_stock import take_stock
from pcietune.guest.wish import Wish
from pcietune.model.profile import ModeName, Profile
from pcietune.model.protection import Protect
from pcietune.model.settings import Tenancy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.audit.memory import Memory
from pcietune.tune.match.survey import survey

FIRST_SWITCH = "0000:20:01.0/00.0"
GPU, NIC, OTHER_NIC = "0000:23:00.0", "0000:24:00.0", "0000:25:00.0"
FAR_GPU, FAR_NIC = "0000:43:00.0", "0000:44:00.0"
NIC_PORTS = ("0000:22:04.0", "0000:22:08.0", "0000:42:04.0", "0000:42:08.0")
NOTHING_BESIDE = Beside()
ONE_GPU = Wish(gpus=1)


def as_wanted(tree: TreeHost) -> TreeHost:
    """Return the tree of ``two_switches`` with DirectTrans+ where a profile wants it."""
    for port in NIC_PORTS:
        set_word(tree, port, 0x005D)
    return tree


def stock_of(  # noqa: PLR0913 -- one for each thing that decides
    tree: TreeHost,
    *,
    wish: Wish = ONE_GPU,
    beside: Beside = NOTHING_BESIDE,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
    tenancy: Tenancy = Tenancy.SINGLE,
    protect: tuple[Protect, ...] = (),
) -> Stock:
    """Return what a tree has for VMs."""
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    yardstick = Yardstick(profile, mode, tenancy=tenancy, protect=protect)
    audited = audit(host, fabric, yardstick, Memory(None))
    return take_stock(host, audited, beside, wish)


def offer(stock: Stock, address: str) -> Offer:
    """Return what has a function."""
    found = stock.owner(PciAddress.parse(address))
    assert found is not None
    return found


def reasons(stock: Stock) -> Mapping[str, tuple[str, ...]]:
    """Return what keeps each offer from VMs, of those that something does."""
    return {str(each.address): each.why_not for each in stock.offers() if each.why_not}


def add_vfs(tree: TreeHost, physical: str, below: str, count: int, first_group: int = 100) -> None:
    """Switch on VFs of a NIC; each has an IOMMU group of its own."""
    for number in range(1, count + 1):
        vf = nic(f"{physical[:-1]}{number}", below=below)
        group = first_group + number
        tree.add(replace(vf, physical_function=physical, group=group, iommu="dmar0"))
