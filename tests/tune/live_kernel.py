"""A tree with a kernel that switches IOMMU groups' types, as an Intel IOMMU in legacy mode does.

What it does to ATS Enable is what was seen of a real one (kernel 6.12): off under ``identity``, on
once the group is attached to a domain that translates, whatever was written in between.
"""

from collections.abc import Callable

from trees.host import TreeHost
from tune.faults import FaultyHost, set_word, word
from tune.judged import opened

from pcietune.address import PciAddress
from pcietune.errors import InUseError

ENABLE = 0x8000


class LiveKernel(FaultyHost):
    """A HostAccess that is no recording.

    Attributes:
        ats: Whether the kernel enables ATS at all: not so where firmware names no root port.
        refuse: Asked before each switch, with the type; may raise what the kernel answers.
    """

    def __init__(self, tree: TreeHost, log: list[str] | None = None) -> None:
        super().__init__(opened(tree), None, [] if log is None else log)
        self.tree = tree
        self.ats = True
        self.refuse: Callable[[str], None] = lambda _: None

    @property
    def recorded(self) -> bool:
        return False

    def write_group_type(self, number: int, text: str) -> None:
        self._log.append(f"type of group {number}: {text}")
        self.refuse(text)
        self.tree.group_type(number, text)
        members = (self.tree.root / f"sys/kernel/iommu_groups/{number}/devices").iterdir()
        for address in (PciAddress.parse(member.name) for member in members):
            if (at := ats_control(self.tree, str(address))) is not None:
                enabled = ENABLE if self.ats and text.startswith("DMA") else 0
                set_word(
                    self.tree, str(address), word(self.tree, str(address), at) & 0x1F | enabled, at
                )


def ats_control(tree: TreeHost, address: str) -> int | None:
    """Return the offset of a function's ATS Control, found by hand; None if it has no ATS."""
    data = tree.config(address).read_bytes()
    at = 0x100
    while at:
        header = int.from_bytes(data[at : at + 4], "little")
        if header & 0xFFFF == 0x000F:
            return at + 6
        at = header >> 20
    return None


def busy(_: str) -> None:
    """Answer as the kernel does while a driver or VFIO owns the group."""
    raise InUseError("the kernel did not take it: Operation not permitted")
