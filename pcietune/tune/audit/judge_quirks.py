"""Judge ports that depart from the specification, by whether the kernel mends it."""

from dataclasses import replace

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.quirks import Quirk, quirk_of
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.acs import LSPCI_NAMES
from pcietune.tune.port_acs import find_acs

ID = "port.quirk"

_WANTED = Value("a kernel that mends what this switch does wrong, or that control off")


def judge_quirks(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the ports of a switch group that do harm unless the kernel takes care of them."""
    findings = []
    for placed in group.ports:
        quirk = quirk_of(placed.port)
        if quirk is not None and quirk.mended_since is not None:
            findings.append(_judge(host, placed.port, quirk, quirk.mended_since))
    return findings


def _judge(host: HostAccess, port: PciFunction, quirk: Quirk, since: tuple[int, int]) -> Finding:
    control = LSPCI_NAMES[quirk.not_set]
    try:
        acs = find_acs(host, port)
        on = acs is not None and quirk.not_set in acs.enabled
    except PcietuneError as error:
        return Finding.unread(ID, Subject.of(port), _WANTED, error)
    if not on:
        return _finding(port, State.PASS, Value(f"{control}-"))
    kernel = host.platform().kernel
    release = KernelRelease.parse(kernel)
    if release is None:
        reason = f"the kernel's release is not known, and older ones leave it at that: {quirk.says}"
        finding = _finding(port, State.ERROR, UNKNOWN, reason)
        return replace(finding, severity=Severity.INFO)
    found = Value(f"{control}+ on kernel {kernel}")
    if not release.is_before(since):
        return _finding(port, State.PASS, found)
    first = ".".join(map(str, since))
    unless = ", unless its maker brought the remedy to it" if release.changed else ""
    reason = f"{quirk.says}, which the kernel sees to since {first}{unless}"
    newer = f"use kernel {first} or later; do not turn {control} on by hand"
    finding = _finding(port, State.FAIL, found, reason)
    return replace(finding, remedy=Remedy(RemedyKind.SOFTWARE, newer))


def _finding(port: PciFunction, state: State, found: Value, reason: str = "") -> Finding:
    return Finding(ID, Subject.of(port), Severity.WARNING, state, found, _WANTED, reason)
