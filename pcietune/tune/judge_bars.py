"""Judge the size of the BAR through which peers reach a GPU's memory."""

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding
from pcietune.model.switch_group import SwitchGroup


def judge_bars(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the size of the BAR through which peers reach a GPU's memory."""
    del host, group
    return []
