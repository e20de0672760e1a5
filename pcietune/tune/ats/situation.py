"""What decides when the kernel turns a function's ATS on: IOMMU, domain, use and kernel."""

from dataclasses import dataclass
from enum import Enum

from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import IommuKind, IommuUnit, Platform

_SCALABLE_MODE = {"sm_on": True, "sm_off": False}  # intel_iommu_setup, intel/iommu.c


class Iommu(Enum):
    """IOMMUs that differ in when the kernel turns ATS on behind them."""

    INTEL_LEGACY = "intel, legacy mode"
    INTEL_SCALABLE = "intel, scalable mode"
    INTEL = "intel, in a mode that is not known"
    AMD = "amd"
    SMMU_V3 = "arm smmu v3"
    OTHER = "another"
    UNKNOWN = "not known"


class Domain(Enum):
    """Default domains of an IOMMU group, by its ``type``."""

    TRANSLATING = "DMA or DMA-FQ"
    IDENTITY = "identity"
    BLOCKED = "blocked"
    OTHER = "another"
    NONE = "no IOMMU"
    UNKNOWN = "not known"


class Use(Enum):
    """Who has a function."""

    NO_DRIVER = "no driver"
    OWN_DRIVER = "its own driver"
    VFIO_IDLE = "bound to VFIO, idle"
    VFIO_USED = "in use by VFIO"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Situation:
    """What a function's ATS is judged by.

    Attributes:
        iommu: What serves the function.
        domain: The default domain of its group.
        use: Who has it.
        kernel: Major and minor number of the release; None if not known.
        enabled: Whether ATS is on.
        proved: Whether the kernel was seen to turn it on in this boot.
    """

    iommu: Iommu
    domain: Domain
    use: Use
    kernel: tuple[int, int] | None
    enabled: bool
    proved: bool = False


def situation(
    platform: Platform,
    function: PciFunction,
    state: FunctionState,
    *,
    enabled: bool,
    proved: bool,
) -> Situation:
    """Return what a function's ATS is judged by."""
    return Situation(
        _iommu(platform, state),
        _domain(platform, state),
        _use(function, state),
        platform.release,
        enabled,
        proved,
    )


def _iommu(platform: Platform, state: FunctionState) -> Iommu:
    unit = platform.iommu_units.get(state.iommu_unit or "")
    if unit is None:
        return Iommu.UNKNOWN
    match unit.kind:
        case IommuKind.INTEL:
            return _intel(platform, unit)
        case IommuKind.AMD:
            return Iommu.AMD
        case IommuKind.ARM:
            return Iommu.SMMU_V3  # others have no device TLB, which is judged before
        case IommuKind.OTHER:
            return Iommu.OTHER


def _intel(platform: Platform, unit: IommuUnit) -> Iommu:
    """Return the mode: what the unit is capable of, and the last word of the command line.

    Without such a word the kernel's CONFIG_INTEL_IOMMU_SCALABLE_MODE_DEFAULT_ON decides, which it
    does not show.
    """
    words = [word for word in platform.options_of("intel_iommu") if word in _SCALABLE_MODE]
    chosen = _SCALABLE_MODE[words[-1]] if words else None
    if unit.scalable is False or chosen is False:
        return Iommu.INTEL_LEGACY
    return Iommu.INTEL_SCALABLE if unit.scalable and chosen else Iommu.INTEL


def _domain(platform: Platform, state: FunctionState) -> Domain:
    if state.group is None:
        return Domain.NONE
    group = platform.group(state.group)
    if group is None or group.type is None:
        return Domain.UNKNOWN
    if group.translates:
        return Domain.TRANSLATING
    known = {domain.value: domain for domain in (Domain.IDENTITY, Domain.BLOCKED)}
    return known.get(group.type, Domain.OTHER)


def _use(function: PciFunction, state: FunctionState) -> Use:
    if state.vfio is None or function.driver is NOT_KNOWN:
        return Use.UNKNOWN
    if state.vfio:
        if state.enable_count is None:
            return Use.UNKNOWN
        return Use.VFIO_USED if state.in_use_by_vfio else Use.VFIO_IDLE
    return Use.NO_DRIVER if function.driver is None else Use.OWN_DRIVER
