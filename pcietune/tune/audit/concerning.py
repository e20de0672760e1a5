"""Which findings keep a function from VFIO."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, State
from pcietune.model.function import PciFunction
from pcietune.model.severity import Severity

_COUNTS = "layout."
"""What is missing elsewhere: the functions that are here serve as before."""


def standing_against(
    host: HostAccess,
    findings: Iterable[Finding],
    function: PciFunction,
    severities: Collection[Severity] = (Severity.ERROR,),
) -> list[Finding]:
    """Return the errors that fail or could not be read, and concern a function.

    They are about itself, a port above it, the switch group that it is in, or the IOMMU that
    serves it. What a site waived does not count. Of other severities only where they are asked for.
    """
    concerned = {function.location, *_ports_above(function)}
    with suppress(PcietuneError):  # it vanished
        concerned.add(host.state(function).iommu_unit or function.location)
    return [
        finding
        for finding in findings
        if finding.severity in severities
        and finding.state in (State.FAIL, State.ERROR)
        and finding.subject.path in concerned
        and not finding.id.startswith(_COUNTS)
    ]


def _ports_above(function: PciFunction) -> set[str]:
    """Return the locations of the ports above a function; one may be its switch group's name."""
    hops = function.location.split("/")
    return {"/".join(hops[:depth]) for depth in range(1, len(hops))}
