"""Why a host's IOMMU groups as a whole may not be what they seem."""

from pcietune.model.access import HostAccess
from pcietune.model.finding import State
from pcietune.tune.audit.isolation import acs_override
from pcietune.tune.audit.judge_kernel import GROUPS, judge_kernel


def group_warnings(host: HostAccess) -> list[str]:
    """Return sentences on what made the groups other than registers imply; mostly none."""
    warnings = []
    override = acs_override(host)
    if override is not None:
        warnings.append(
            f"{override} makes the kernel claim isolation that no register gives; what is not "
            "apart is told below"
        )
    warnings += [
        finding.reason
        for finding in judge_kernel(host)
        if finding.id == GROUPS and finding.state is State.FAIL
    ]
    return warnings
