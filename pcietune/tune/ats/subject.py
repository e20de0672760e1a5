"""One function, with all that its ATS is judged from."""

from dataclasses import dataclass

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.platform import IommuUnit, Platform
from pcietune.registers.ats import Ats


@dataclass(frozen=True, slots=True)
class AtsSubject:
    """One function, with all that its ATS is judged from.

    Attributes:
        host: Where it is.
        fabric: The host's functions.
        function: It.
        state: What sysfs says of it.
        ats: Its capability.
    """

    host: HostAccess
    fabric: Fabric
    function: PciFunction
    state: FunctionState
    ats: Ats

    @property
    def platform(self) -> Platform:
        """The host apart from its functions."""
        return self.host.platform()

    @property
    def unit(self) -> IommuUnit | None:
        """The IOMMU that serves it; None if the kernel names none."""
        return self.platform.iommu_units.get(self.state.iommu_unit or "")

    @property
    def physical(self) -> PciFunction | None:
        """Of a VF its PF, None if that is gone; of any other function itself."""
        if self.state.physical_function is None:
            return self.function
        return self.fabric.functions.get(self.state.physical_function)
