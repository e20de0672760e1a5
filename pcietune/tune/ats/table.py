"""When the kernel turns ATS on, as a table: the first row that fits a situation judges it.

Nothing else may be in the way (pcietune.tune.ats.causes): a missing capability, an IOMMU without
device TLB, a root port that the firmware left out.
"""

from pcietune.model.finding import State
from pcietune.tune.ats.row import AtsRow
from pcietune.tune.ats.rows_off import OFF_ROWS
from pcietune.tune.ats.rows_on import ON_ROWS
from pcietune.tune.ats.situation import Domain, Situation
from pcietune.tune.iommu_remedies import TURN_ON_IOMMU

_NO_IOMMU = AtsRow(
    "no IOMMU",
    "pci_enable_ats is called by IOMMU drivers alone, drivers/pci/ats.c",
    State.FAIL,
    "no IOMMU answers translation requests: none is on for this function",
    TURN_ON_IOMMU,
    enabled=None,
    domains=frozenset({Domain.NONE}),
)

ATS_TABLE = (_NO_IOMMU, *ON_ROWS, *OFF_ROWS)
"""By precedence."""


def row_for(found: Situation) -> AtsRow:
    """Return the row that judges ``found``."""
    return next(row for row in ATS_TABLE if row.fits(found))
