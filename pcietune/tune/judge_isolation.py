"""Compare the isolation that live registers imply with what IOMMU groups claim."""

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding
from pcietune.model.switch_group import SwitchGroup


def judge_isolation(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Compare the isolation that live registers imply with what IOMMU groups claim."""
    del host, fabric, group
    return []
