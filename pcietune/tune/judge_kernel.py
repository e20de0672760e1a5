"""Judge the kernel and its command line: what is known to group wrongly, and to mislead."""

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding


def judge_kernel(host: HostAccess) -> list[Finding]:
    """Judge the kernel and its command line: what is known to group wrongly, and to mislead."""
    del host
    return []
