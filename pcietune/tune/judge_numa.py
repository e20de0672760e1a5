"""Judge what firmware says of the NUMA nodes of GPUs and NICs."""

from collections.abc import Sequence

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding
from pcietune.model.switch_group import SwitchGroup


def judge_numa(host: HostAccess, groups: Sequence[SwitchGroup]) -> list[Finding]:
    """Judge what firmware says of the NUMA nodes of GPUs and NICs."""
    del host, groups
    return []
