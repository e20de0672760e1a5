"""Judge ports that depart from the specification by whether the kernel knows of it."""

from dataclasses import replace

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import AcsControl
from pcietune.tune.port_acs import find_acs

ID = "port.quirk"

_PERICOM = 0x12D8
_KNOWN_SINCE = {0x2303: (5, 16), 0x2304: (5, 16), 0x2404: (5, 16), 0xB404: (7, 0)}
"""Kernels that put these switches into store-and-forward mode when ReqRedir is on.

drivers/pci/quirks.c, pci_fixup_pericom_acs_store_forward (v5.16); 12d8:b404 by commit 5907a90551e9
(v7.0).
"""
_WANTED = Value("a kernel that knows this switch, or ReqRedir-")


def judge_quirks(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the ports of a switch group that corrupt data unless the kernel takes care of them."""
    ports = (placed.port for placed in group.ports)
    return [
        _judge(host, port)
        for port in ports
        if port.vendor == _PERICOM and port.device in _KNOWN_SINCE
    ]


def _judge(host: HostAccess, port: PciFunction) -> Finding:
    try:
        acs = find_acs(host, port)
        redirects = acs is not None and AcsControl.P2P_REQUEST_REDIRECT in acs.enabled
    except PcietuneError as error:
        return Finding.unread(ID, Subject.of(port), _WANTED, error)
    if not redirects:
        return _finding(port, State.PASS, Value("ReqRedir-"))
    kernel = host.platform().kernel
    release = KernelRelease.parse(kernel)
    if release is None:
        reason = "the kernel's release is not known: older ones let this switch corrupt data"
        finding = _finding(port, State.ERROR, UNKNOWN, reason)
        return replace(finding, severity=Severity.INFO)
    found = Value(f"ReqRedir+ on kernel {kernel}")
    since = _KNOWN_SINCE[port.device]
    if not release.is_before(since):
        return _finding(port, State.PASS, found)
    first = ".".join(map(str, since))
    unless = ", unless its maker brought the remedy to it" if release.changed else ""
    reason = (
        f"with ReqRedir on, {port.id} may corrupt data unless it is in store-and-forward mode; the "
        f"kernel sets that since {first}{unless}"
    )
    newer = f"use kernel {first} or later; do not turn ReqRedir on by hand"
    finding = _finding(port, State.FAIL, found, reason)
    return replace(finding, remedy=Remedy(RemedyKind.SOFTWARE, newer))


def _finding(port: PciFunction, state: State, found: Value, reason: str = "") -> Finding:
    return Finding(ID, Subject.of(port), Severity.WARNING, state, found, _WANTED, reason)
