"""A row of the table by which ATS is judged."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.severity import Severity
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.situation import Domain, Iommu, Situation, Use

ON_HOST = Remedy(RemedyKind.SOFTWARE, "run pcietune on the host, or record it there")
RESCAN = Remedy(
    RemedyKind.SOFTWARE, "remove and rescan {address}; if it stays off, ATS in the firmware's setup"
)

SCALABLE = frozenset({Iommu.INTEL_SCALABLE})
MODE_UNKNOWN = frozenset({Iommu.INTEL})
IDENTITY = frozenset({Domain.IDENTITY})
BLOCKED = frozenset({Domain.BLOCKED})
UNTRANSLATED = IDENTITY | BLOCKED


@dataclass(frozen=True, slots=True)
class AtsRow:
    """Some situations, and how ATS is judged in them.

    Attributes:
        name: What it is about, in a few words.
        source: Where the kernel's behaviour is known from.
        state: How it is judged.
        reason: Why, with ``{domain}``, ``{use}`` and ``{cause}`` to be filled in.
        remedy: What to do, with ``{address}`` and ``{driver}`` to be filled in.
        severity: How much it matters.
        action: What apply may do about it.
        enabled: Whether ATS is on; None if that makes no difference, as below.
        proved: Whether the kernel was seen to turn it on in this boot.
        iommus: By what the function is served.
        domains: The default domain.
        uses: Who has the function.
        since: The first kernel; None if all, and those of no known release.
        before: The first kernel that is too new, likewise.
    """

    name: str
    source: str
    state: State
    reason: str = ""
    remedy: Remedy | None = None
    severity: Severity = Severity.ERROR
    action: AtsAction | None = None
    enabled: bool | None = False
    proved: bool | None = None
    iommus: AbstractSet[Iommu] = frozenset(Iommu)
    domains: AbstractSet[Domain] = frozenset(Domain)
    uses: AbstractSet[Use] = frozenset(Use)
    since: tuple[int, int] | None = None
    before: tuple[int, int] | None = None

    def fits(self, found: Situation) -> bool:
        """Return whether this row is about ``found``."""
        return (
            self.enabled in (None, found.enabled)
            and self.proved in (None, found.proved)
            and found.iommu in self.iommus
            and found.domain in self.domains
            and found.use in self.uses
            and self._fits_kernel(found.kernel)
        )

    def _fits_kernel(self, kernel: tuple[int, int] | None) -> bool:
        if kernel is None:
            return self.since is None and self.before is None
        return (self.since or kernel) <= kernel and (self.before is None or kernel < self.before)
