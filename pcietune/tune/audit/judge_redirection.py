"""Say once for the host whether ACS redirects anything on its GPU-NIC paths."""

from collections.abc import Sequence

from pcietune.errors import ConfigSpaceError
from pcietune.model.finding import HOST, Finding, State, Value
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.port_acs import built_in_controls
from pcietune.tune.vfio_use import named

ID = "acs.redirection"

_HARMLESS = (
    AcsControl.SOURCE_VALIDATION | AcsControl.UPSTREAM_FORWARDING | AcsControl.DIRECT_TRANSLATED_P2P
).value
"""Controls that by themselves send no peer-to-peer packet another way; all others may."""


def judge_redirection(groups: Sequence[SwitchGroup], bits: Sequence[JudgedBit]) -> list[Finding]:
    """Exonerate ACS, or not: for information, since what each port owes is judged there.

    A port that nothing was asked of, or that could not be read, may redirect.
    """
    if not groups:
        return []
    judged = {bit.requirement.placed.port.address: bit for bit in bits}
    ports = [placed.port for group in groups for placed in group.ports]
    wanted = Value("no port on a GPU-NIC path redirects or blocks")
    unread = [p for p in ports if _is_unread(judged.get(p.address))]
    if unread:
        error = ConfigSpaceError(f"not known: {named(unread)} could not be judged")
        finding = Finding.unread(ID, HOST, wanted, error)
        return [Finding(ID, HOST, Severity.INFO, finding.state, finding.found, wanted, str(error))]
    redirecting = [p for p in ports if _may_redirect(judged[p.address])]
    if redirecting:
        reason = f"peer-to-peer packets may go another way at {named(redirecting)}"
        found = Value(f"{len(redirecting)} ports redirect or block", str(len(redirecting)))
        return [Finding(ID, HOST, Severity.INFO, State.FAIL, found, wanted, reason)]
    reason = (
        "ACS redirects nothing on the GPU-NIC paths: whatever is slow or fails here, look "
        "elsewhere: the IOMMU's mode, host bridges between peers, drivers"
    )
    return [Finding(ID, HOST, Severity.INFO, State.PASS, Value("none does", "0"), wanted, reason)]


def _is_unread(bit: JudgedBit | None) -> bool:
    return bit is None or bit.finding.state is State.ERROR


def _may_redirect(bit: JudgedBit) -> bool:
    port = bit.requirement.placed.port
    acting = built_in_controls(port).value if bit.acs is None else bit.acs.control
    return bool(acting & ~_HARMLESS)
