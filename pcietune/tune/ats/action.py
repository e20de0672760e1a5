"""What apply may do about a function's ATS."""

from enum import Enum


class AtsAction(Enum):
    """What apply may do about a function's ATS."""

    PROVE = "prove"  # let the kernel turn it on for a moment: the group's type to DMA and back
    HEAL = "heal"  # the same switch, where the kernel had it on and somebody cleared it
    FORCE = "force"  # a raw write, for kernels that cannot
