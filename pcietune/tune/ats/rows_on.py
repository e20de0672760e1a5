"""ATS that is on: right, written by somebody, or not known, as a table of rows by precedence."""

from pcietune.model.finding import State
from pcietune.model.severity import Severity
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
    KEPT_ON,
    LEGACY_IDENTITY,
    OTHER_TYPES,
    OWNER,
    SMMU,
    SMMU_BYPASS,
    TRIED,
)

_WRITTEN = (
    "on though {use} under domain type {domain}, where this kernel does not turn it on: somebody "
    "wrote it, and the IOMMU blocks its translation requests"
)
_BEFORE_VFIO = (
    "on though idle under domain type {domain}: VFIO is about to open it, or somebody wrote it and "
    "the kernel will anew when VFIO attaches it"
)
_LEGACY = frozenset({Iommu.INTEL_LEGACY})
_SMMU = frozenset({Iommu.SMMU_V3})
_MAY_BLOCK = _LEGACY | _SMMU | MODE_UNKNOWN | {Iommu.UNKNOWN}
_WITHOUT_VFIO = frozenset({Use.NO_DRIVER, Use.OWN_DRIVER})
_IDLE = frozenset({Use.VFIO_IDLE})

ON_ROWS = (
    AtsRow(
        "on behind an IOMMU of another kind",
        "riscv-non-isa/riscv-iommu issue 720: with T2GPA translated requests carry guest addresses",
        State.ERROR,
        "on, but whether this IOMMU answers with host addresses is not known: only such may go "
        "straight across a switch",
        enabled=True,
        iommus=frozenset({Iommu.OTHER}),
    ),
    AtsRow(
        "in use and on",
        f"{OWNER}; {TRIED}",
        State.PASS,
        enabled=True,
        uses=frozenset({Use.VFIO_USED}),
    ),
    AtsRow(
        "on under a domain that is not known",
        DOMAIN_TYPES,
        State.ERROR,
        "on, but the type of its IOMMU group is not known, so whether anybody answers its "
        "translation requests is not known either",
        ON_HOST,
        enabled=True,
        domains=frozenset({Domain.UNKNOWN}),
    ),
    AtsRow(
        "on under another domain",
        OTHER_TYPES,
        State.ERROR,
        "on under domain type {domain}: whether anybody answers its translation requests is not "
        "known",
        enabled=True,
        domains=frozenset({Domain.OTHER}),
    ),
    AtsRow(
        "on under identity, where this kernel turns it on in every mode",
        LEGACY_IDENTITY,
        State.PASS,
        enabled=True,
        iommus=_LEGACY | MODE_UNKNOWN,
        domains=IDENTITY,
        before=(6, 7),
    ),
    AtsRow(
        "on without VFIO, where this kernel does not turn it on",
        LEGACY_IDENTITY,
        State.FAIL,
        _WRITTEN,
        RESCAN,
        Severity.WARNING,
        enabled=True,
        iommus=_LEGACY,
        domains=UNTRANSLATED,
        uses=_WITHOUT_VFIO,
        since=(6, 7),
    ),
    AtsRow(
        "on before VFIO opens it",
        f"{LEGACY_IDENTITY}; {TRIED}",
        State.PENDING,
        _BEFORE_VFIO,
        enabled=True,
        iommus=_LEGACY,
        domains=UNTRANSLATED,
        uses=_IDLE,
        since=(6, 7),
    ),
    AtsRow(
        "on without VFIO behind an SMMUv3 that is bypassed",
        SMMU_BYPASS,
        State.FAIL,
        _WRITTEN,
        RESCAN,
        Severity.WARNING,
        enabled=True,
        iommus=_SMMU,
        domains=UNTRANSLATED,
        uses=_WITHOUT_VFIO,
        before=(7, 2),
    ),
    AtsRow(
        "on behind an SMMUv3 before VFIO opens it",
        f"{SMMU_BYPASS}; {OWNER}",
        State.PENDING,
        _BEFORE_VFIO,
        enabled=True,
        iommus=_SMMU,
        domains=UNTRANSLATED,
        uses=_IDLE,
        before=(7, 2),
    ),
    AtsRow(
        "on, and its use not known",
        f"{LEGACY_IDENTITY}; {SMMU_BYPASS}",
        State.ERROR,
        "on under domain type {domain}, where it may be right only while VFIO uses it, and whether "
        "it does is not known",
        ON_HOST,
        enabled=True,
        iommus=_MAY_BLOCK,
        domains=UNTRANSLATED,
        uses=frozenset({Use.UNKNOWN}),
    ),
    AtsRow(
        "on in a mode that is not known",
        f"{LEGACY_IDENTITY}; {KEPT_ON}",
        State.PENDING,
        "on though {use} under domain type {domain}: right if the IOMMU runs in scalable mode; in "
        "legacy mode somebody wrote it, and the kernel will anew when VFIO attaches it; the kernel "
        "does not show which it is",
        enabled=True,
        iommus=MODE_UNKNOWN,
        domains=UNTRANSLATED,
    ),
    AtsRow(
        "on where not every kernel and IOMMU has it on",
        f"{LEGACY_IDENTITY}; {SMMU}",
        State.PENDING,
        "on though {use} under domain type {domain}: whether this kernel has it on there is not "
        "known; if not, somebody wrote it, and the kernel will anew when VFIO attaches it",
        enabled=True,
        iommus=_MAY_BLOCK,
        domains=UNTRANSLATED,
    ),
    AtsRow(
        "on and blocked, where it is kept on",
        f"{KEPT_ON} (6.15)",
        State.PASS,
        enabled=True,
        iommus=SCALABLE,
        domains=BLOCKED,
        since=(6, 15),
    ),
    AtsRow(
        "on and blocked",
        f"{AMD}; device_block_translation, drivers/iommu/intel/iommu.c of 6.11",
        State.PENDING,
        "on though {use} under domain type {domain}, where the kernel turns it off: it will turn "
        "it on when VFIO attaches it",
        enabled=True,
        iommus=SCALABLE | {Iommu.AMD},
        domains=BLOCKED,
    ),
    AtsRow("on", TRIED, State.PASS, enabled=True),
)
