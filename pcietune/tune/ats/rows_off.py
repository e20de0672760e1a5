"""ATS that is off: lost, or not on yet, as a table of rows by precedence."""

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.row import (
    BLOCKED,
    IDENTITY,
    MODE_UNKNOWN,
    ON_HOST,
    RESCAN,
    SCALABLE,
    UNTRANSLATED,
    AtsRow,
)
from pcietune.tune.ats.situation import Domain, Iommu, Use
from pcietune.tune.ats.sources import (
    AMD,
    DOMAIN_TYPES,
    INTEL,
    KEPT_ON,
    OTHER_TYPES,
    OWNER,
    SMMU,
    TRIED,
)

_RESTART = Remedy(RemedyKind.SOFTWARE, "stop the VM and start it again; see dmesg for why")
_UNBIND = Remedy(RemedyKind.SOFTWARE, "unbind {address} from {driver}, then remove and rescan it")

_AT_ATTACH = "{use} under domain type {domain}: the kernel turns ATS on when VFIO attaches it"
_MODE = (
    f"{_AT_ATTACH}, if the IOMMU runs in legacy mode; in scalable mode it would be on already, and "
    "the kernel does not show which it is"
)
_LOST = (
    "off though {use} under domain type {domain}, where the kernel would have turned it on: {cause}"
)

_AT_VFIO = frozenset({Iommu.INTEL_LEGACY, Iommu.SMMU_V3})
_WITH_ANY_DOMAIN = frozenset({Iommu.AMD, Iommu.INTEL_SCALABLE})
_NO_DRIVER = frozenset({Use.NO_DRIVER})

OFF_ROWS = (
    AtsRow(
        "in use and off",
        f"{OWNER}; {TRIED}",
        State.FAIL,
        "in use by VFIO and off: the VM's peer-to-peer traffic goes through the root complex",
        _RESTART,
        uses=frozenset({Use.VFIO_USED}),
    ),
    AtsRow(
        "off, and its use not known",
        "an lspci dump has neither drivers nor VFIO devices",
        State.ERROR,
        "off, and whether VFIO uses it or the kernel will turn it on is not known",
        ON_HOST,
        uses=frozenset({Use.UNKNOWN}),
    ),
    AtsRow(
        "off under a domain that is not known",
        DOMAIN_TYPES,
        State.ERROR,
        "off, and the type of its IOMMU group is not known, so whether the kernel will turn it on "
        "is not known either",
        ON_HOST,
        domains=frozenset({Domain.UNKNOWN}),
    ),
    AtsRow(
        "off under another domain",
        OTHER_TYPES,
        State.ERROR,
        "off under domain type {domain}: whether the kernel will turn it on is not known",
        domains=frozenset({Domain.OTHER}),
    ),
    AtsRow(
        "off behind another IOMMU",
        "only the drivers for Intel, AMD and SMMUv3 are known here",
        State.ERROR,
        "off, and when the kernel turns ATS on behind the IOMMU that serves it is not known",
        iommus=frozenset({Iommu.OTHER, Iommu.UNKNOWN}),
    ),
    AtsRow(
        "proved",
        TRIED,
        State.PASS,
        "proved in this boot: the kernel turned it on when the domain came to translate",
        proved=True,
        domains=UNTRANSLATED,
    ),
    AtsRow(
        "without a driver, before VFIO",
        f"{INTEL}; {SMMU}; {TRIED}",
        State.PENDING,
        _AT_ATTACH,
        action=AtsAction.PROVE,
        iommus=_AT_VFIO,
        domains=IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "before VFIO",
        f"{INTEL}; {SMMU}; {OWNER}",
        State.PENDING,
        _AT_ATTACH,
        iommus=_AT_VFIO,
        domains=UNTRANSLATED,
    ),
    AtsRow(
        "without a driver, in a mode that is not known",
        f"{INTEL}; {KEPT_ON}",
        State.PENDING,
        _MODE,
        action=AtsAction.PROVE,
        iommus=MODE_UNKNOWN,
        domains=IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "in a mode that is not known",
        f"{INTEL}; {KEPT_ON}",
        State.PENDING,
        _MODE,
        iommus=MODE_UNKNOWN,
        domains=UNTRANSLATED,
    ),
    AtsRow(
        "blocked on AMD",
        AMD,
        State.PENDING,
        _AT_ATTACH,
        iommus=frozenset({Iommu.AMD}),
        domains=BLOCKED,
    ),
    AtsRow(
        "blocked in scalable mode, where attaching turns it on",
        "device_block_translation, drivers/iommu/intel/iommu.c of 6.11",
        State.PENDING,
        _AT_ATTACH,
        iommus=SCALABLE,
        domains=BLOCKED,
        before=(6, 12),
    ),
    AtsRow(
        "lost in scalable mode, where it is kept on",
        f"{KEPT_ON} (6.15)",
        State.FAIL,
        _LOST,
        RESCAN,
        iommus=SCALABLE,
        since=(6, 15),
    ),
    AtsRow(
        "blocked in scalable mode, by a kernel of which it is not known",
        f"{KEPT_ON}, proposed for 6.12 and 6.14 stable kernels too",
        State.ERROR,
        "off under domain type {domain}, where some kernels of this release keep it on and some "
        "turn it on when VFIO attaches it",
        iommus=SCALABLE,
        domains=BLOCKED,
    ),
    AtsRow(
        "lost under identity, without a driver",
        f"{AMD}; dmar_domain_attach_device, drivers/iommu/intel/iommu.c",
        State.FAIL,
        _LOST,
        RESCAN,
        action=AtsAction.PROVE,
        iommus=_WITH_ANY_DOMAIN,
        domains=IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "lost without a driver",
        TRIED,
        State.FAIL,
        _LOST,
        RESCAN,
        action=AtsAction.HEAL,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "lost before VFIO",
        f"{OWNER}; {TRIED}",
        State.PENDING,
        f"{_LOST}; the kernel will anew when VFIO attaches it, unless firmware forbids it",
        uses=frozenset({Use.VFIO_IDLE}),
    ),
    AtsRow("lost with a driver", TRIED, State.FAIL, _LOST, _UNBIND),
)
"""The last three are what is left: a domain under which the kernel turns ATS on."""
