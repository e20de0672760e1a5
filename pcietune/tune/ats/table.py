"""When the kernel turns ATS on, as a table: the first row that fits a situation judges it.

Nothing else may be in the way (pcietune.tune.ats.causes): a missing capability, an IOMMU without
device TLB, a root port that the firmware left out.
"""

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.severity import Severity
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.row import AtsRow
from pcietune.tune.ats.situation import Domain, Iommu, Situation, Use
from pcietune.tune.iommu_remedies import TURN_ON_IOMMU

_ON_HOST = Remedy(RemedyKind.SOFTWARE, "run pcietune on the host, or record it there")
_RESTART = Remedy(RemedyKind.SOFTWARE, "stop the VM and start it again; see dmesg for why")
_RESCAN = Remedy(
    RemedyKind.SOFTWARE, "remove and rescan {address}; if it stays off, ATS in the firmware's setup"
)
_UNBIND = Remedy(RemedyKind.SOFTWARE, "unbind {address} from {driver}, then remove and rescan it")

_AT_ATTACH = "{use} under domain type {domain}: the kernel turns ATS on when VFIO attaches it"
_MODE = (
    f"{_AT_ATTACH}, if the IOMMU runs in legacy mode; in scalable mode it would be on already, and "
    "the kernel does not show which it is"
)
_LOST = (
    "off though {use} under domain type {domain}, where the kernel would have turned it on: {cause}"
)

_INTEL = "domain_context_mapping and domain_context_clear, drivers/iommu/intel/iommu.c"
_LEGACY_IDENTITY = (
    'commit da37dddcf4ca, "iommu/vt-d: Disable PCI ATS in legacy passthrough mode" (6.7)'
)
_KEPT_ON = 'commit 5518f239aff1, "iommu/vt-d: Move scalable mode ATS enablement to probe path"'
_AMD = "amd_iommu_attach_device and detach_device, drivers/iommu/amd/iommu.c"
_SMMU = (
    "arm_smmu_ats_supported and the bypass STE, drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c; from "
    "7.2 on some devices keep it under identity, too (pci_ats_required)"
)
_OWNER = "iommu_group_claim_dma_owner, drivers/iommu/iommu.c: a blocking domain, then VFIO's own"
_TRIED = "tried on kernel 6.12 with an Intel IOMMU in legacy mode"

_AT_VFIO = frozenset({Iommu.INTEL_LEGACY, Iommu.SMMU_V3})
_WITH_ANY_DOMAIN = frozenset({Iommu.AMD, Iommu.INTEL_SCALABLE})
_UNTRANSLATED = frozenset({Domain.IDENTITY, Domain.BLOCKED})
_NO_DRIVER = frozenset({Use.NO_DRIVER})
_SCALABLE = frozenset({Iommu.INTEL_SCALABLE})
_MODE_UNKNOWN = frozenset({Iommu.INTEL})
_IDENTITY = frozenset({Domain.IDENTITY})
_BLOCKED = frozenset({Domain.BLOCKED})

ATS_TABLE = (
    AtsRow(
        "no IOMMU",
        "pci_enable_ats is called by IOMMU drivers alone, drivers/pci/ats.c",
        State.FAIL,
        "no IOMMU answers translation requests: none is on for this function",
        TURN_ON_IOMMU,
        enabled=None,
        domains=frozenset({Domain.NONE}),
    ),
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
        "on where this kernel does not turn it on",
        _LEGACY_IDENTITY,
        State.FAIL,
        "on though {use} under domain type {domain}, where this kernel does not turn it on: "
        "somebody wrote it, and the IOMMU blocks its translation requests",
        _RESCAN,
        Severity.WARNING,
        enabled=True,
        iommus=frozenset({Iommu.INTEL_LEGACY}),
        domains=_UNTRANSLATED,
        uses=frozenset({Use.NO_DRIVER, Use.OWN_DRIVER}),
        since=(6, 7),
    ),
    AtsRow(
        "on before VFIO opens it",
        f"{_LEGACY_IDENTITY}; {_TRIED}",
        State.PENDING,
        "on though idle under domain type {domain}: VFIO is about to open it, or somebody wrote it "
        "and the kernel will anew when VFIO attaches it",
        enabled=True,
        iommus=frozenset({Iommu.INTEL_LEGACY}),
        domains=_UNTRANSLATED,
        uses=frozenset({Use.VFIO_IDLE}),
        since=(6, 7),
    ),
    AtsRow(
        "in use and off",
        f"{_OWNER}; {_TRIED}",
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
        _ON_HOST,
        uses=frozenset({Use.UNKNOWN}),
    ),
    AtsRow(
        "its domain not known",
        "Documentation/ABI/testing/sysfs-kernel-iommu_groups",
        State.ERROR,
        "the type of its IOMMU group is not known, so whether the kernel turns ATS on, and anybody "
        "answers its translation requests, is not known either",
        _ON_HOST,
        enabled=None,
        domains=frozenset({Domain.UNKNOWN}),
        uses=frozenset(Use) - {Use.VFIO_USED},
    ),
    AtsRow("on", _TRIED, State.PASS, enabled=True),
    AtsRow(
        "off under another domain",
        "iommu_group_show_type, drivers/iommu/iommu.c: unmanaged, or no default domain at all",
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
        _TRIED,
        State.PASS,
        "proved in this boot: the kernel turned it on when the domain came to translate",
        proved=True,
        domains=_UNTRANSLATED,
    ),
    AtsRow(
        "without a driver, before VFIO",
        f"{_INTEL}; {_SMMU}; {_TRIED}",
        State.PENDING,
        _AT_ATTACH,
        action=AtsAction.PROVE,
        iommus=_AT_VFIO,
        domains=_IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "before VFIO",
        f"{_INTEL}; {_SMMU}; {_OWNER}",
        State.PENDING,
        _AT_ATTACH,
        iommus=_AT_VFIO,
        domains=_UNTRANSLATED,
    ),
    AtsRow(
        "without a driver, in a mode that is not known",
        f"{_INTEL}; {_KEPT_ON}",
        State.PENDING,
        _MODE,
        action=AtsAction.PROVE,
        iommus=_MODE_UNKNOWN,
        domains=_IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "in a mode that is not known",
        f"{_INTEL}; {_KEPT_ON}",
        State.PENDING,
        _MODE,
        iommus=_MODE_UNKNOWN,
        domains=_UNTRANSLATED,
    ),
    AtsRow(
        "blocked on AMD",
        _AMD,
        State.PENDING,
        _AT_ATTACH,
        iommus=frozenset({Iommu.AMD}),
        domains=_BLOCKED,
    ),
    AtsRow(
        "blocked in scalable mode, where attaching turns it on",
        "device_block_translation, drivers/iommu/intel/iommu.c of 6.11",
        State.PENDING,
        _AT_ATTACH,
        iommus=_SCALABLE,
        domains=_BLOCKED,
        before=(6, 12),
    ),
    AtsRow(
        "lost in scalable mode, where it is kept on",
        f"{_KEPT_ON} (6.15)",
        State.FAIL,
        _LOST,
        _RESCAN,
        iommus=_SCALABLE,
        since=(6, 15),
    ),
    AtsRow(
        "blocked in scalable mode, by a kernel of which it is not known",
        f"{_KEPT_ON}, proposed for 6.12 and 6.14 stable kernels too",
        State.ERROR,
        "off under domain type {domain}, where some kernels of this release keep it on and some "
        "turn it on when VFIO attaches it",
        iommus=_SCALABLE,
        domains=_BLOCKED,
    ),
    AtsRow(
        "lost under identity, without a driver",
        f"{_AMD}; dmar_domain_attach_device, drivers/iommu/intel/iommu.c",
        State.FAIL,
        _LOST,
        _RESCAN,
        action=AtsAction.PROVE,
        iommus=_WITH_ANY_DOMAIN,
        domains=_IDENTITY,
        uses=_NO_DRIVER,
    ),
    AtsRow(
        "lost without a driver",
        _TRIED,
        State.FAIL,
        _LOST,
        _RESCAN,
        action=AtsAction.HEAL,
        uses=_NO_DRIVER,
    ),
    AtsRow("lost with a driver", _TRIED, State.FAIL, _LOST, _UNBIND),
)
"""By precedence; the last two are what is left: a domain under which the kernel turns ATS on."""


def row_for(found: Situation) -> AtsRow:
    """Return the row that judges ``found``."""
    return next(row for row in ATS_TABLE if row.fits(found))
