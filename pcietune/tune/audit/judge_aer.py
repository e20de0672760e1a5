"""Judge how many requests ACS stopped, as Advanced Error Reporting counted them."""

import re

from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended

ID = "port.acs-violations"

_COUNTERS = ("aer_dev_fatal", "aer_dev_nonfatal")  # Documentation/ABI/testing, 4.19 and later
_VIOLATIONS = re.compile(r"^ACSViol (\d+)$", re.MULTILINE)
_NONE = Value("0 ACS violations", "0")
_REASON = (
    "it stopped requests: such as come translated while TransBlk is on, or bear a bus number from "
    "elsewhere; those from bus 00 right after a hot-plug do no harm"
)
_LOOK = Remedy(
    RemedyKind.SOFTWARE,
    "dmesg | grep -A1 ACSViol shows the packets' headers: a second word begins with the requester",
)


def judge_aer(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the counts of every root and downstream port.

    Costs no configuration cycle where there are counts, nor the walk for ACS where there are none.
    """
    return [_judge(host, placed.port) for placed in group.ports]


def _judge(host: HostAccess, port: PciFunction) -> Finding:
    texts = [host.attribute(port, name) for name in _COUNTERS]
    counts = [_VIOLATIONS.search(text) for text in texts if text is not None]
    subject = Subject.of(port)
    if not counts:
        return _without_counts(host, port)
    known = [int(count[1]) for count in counts if count is not None]
    if len(known) < len(_COUNTERS):
        error = ConfigSpaceError(f"{port.address}: its AER statistics do not count ACSViol")
        return Finding.unread(ID, subject, _NONE, error, Severity.INFO)
    total = sum(known)
    if not total:
        return Finding(ID, subject, Severity.INFO, State.PASS, _NONE, _NONE, "")
    found = Value(f"{total} ACS violation{'' if total == 1 else 's'}", str(total))
    return Finding(ID, subject, Severity.INFO, State.FAIL, found, _NONE, _REASON, _LOOK)


def _without_counts(host: HostAccess, port: PciFunction) -> Finding:
    """Tell a port that has nothing to count from one whose counts are not told here.

    The kernel shows counts for every function with AER (drivers/pci/pcie/aer.c, pci_aer_init).
    """
    subject = Subject.of(port)
    try:
        aer = find_extended(host.config(port), ExtendedCapabilityId.ADVANCED_ERROR_REPORTING)
        if aer is not None:
            raise ConfigSpaceError(f"{port.address}: its AER statistics are not known")
    except PcietuneError as error:
        return Finding.unread(ID, subject, _NONE, error, Severity.INFO)
    found, reason = Value("not counted"), "it has no Advanced Error Reporting"
    return Finding(ID, subject, Severity.INFO, State.NOT_APPLICABLE, found, _NONE, reason)
