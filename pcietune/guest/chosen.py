"""A function that was chosen for a VM, with all that its place there depends on."""

from dataclasses import dataclass

from pcietune.guest.kinds import Kind
from pcietune.model.bars import Bar
from pcietune.model.function import FunctionState, LinkState, PciFunction


@dataclass(frozen=True, slots=True)
class Chosen:
    """One slot's worth of functions for a VM.

    Attributes:
        function: The GPU, NIC (a PF or a VF) or NVSwitch.
        kind: What it is.
        state: What sysfs says of it.
        link: Of it, or of its PF if it is a VF: a VF has none of its own; None if not known.
        port_link: Of the port right above it; None if there is none, or not known.
        bars: Its BARs; None if not known.
        ats: Whether it has an ATS capability; None if that could not be read.
        switches: Upstream ports of the switches above it, topmost first; empty if there is none.
        companions: Other functions of its slot or IOMMU group that go with it, in order.
        root_link: Of the root port above it, by which a whole switch hangs; None if not known.
    """

    function: PciFunction
    kind: Kind
    state: FunctionState
    link: LinkState | None
    port_link: LinkState | None
    bars: tuple[Bar, ...] | None
    ats: bool | None
    switches: tuple[PciFunction, ...]
    companions: tuple["Chosen", ...] = ()
    root_link: LinkState | None = None
