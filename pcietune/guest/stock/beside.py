"""What is known of a host beside its functions and how it is judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold


def _no_holds(_: PciFunction) -> Sequence[Hold]:
    return ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside.

    Attributes:
        users: Who has functions open by VFIO, for a sentence: ``qemu-system-x86 (pid 4711)``.
        holds: What the host's own software has of a function.
        mdevs: Mediated devices of each function that has some.
    """

    users: Mapping[PciAddress, str] = field(default_factory=dict)
    holds: Callable[[PciFunction], Sequence[Hold]] = _no_holds
    mdevs: Mapping[PciAddress, Sequence[str]] = field(default_factory=dict)
