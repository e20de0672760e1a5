"""Judge Relaxed Ordering and Max_Payload_Size of GPUs and NICs and of the path between."""

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding
from pcietune.model.switch_group import SwitchGroup


def judge_device_control(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Judge Relaxed Ordering and Max_Payload_Size of GPUs and NICs and of the path between."""
    del host, fabric, group
    return []
