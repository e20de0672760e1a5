"""Judge the kernel: releases that are known to form wrong IOMMU groups, and its command line."""

from types import MappingProxyType

from pcietune.model.access import HostAccess
from pcietune.model.finding import (
    HOST,
    UNKNOWN,
    Finding,
    Remedy,
    RemedyKind,
    State,
    Value,
)
from pcietune.model.kernel_release import KernelRelease
from pcietune.model.severity import Severity
from pcietune.tune.audit.judge_command_line import judge_command_line
from pcietune.tune.audit.lint_devices import Peers, lint_devices

GROUPS = "kernel.groups"

_GROUPS_BEFORE_ACS = {
    (5, 10): (252, 253),
    (5, 15): (202, 203),
    (6, 1): (165, 169),
    (6, 6): (128, 135),
    (6, 12): (75, 83),
}
"""Per series, the first stable release that forms groups before ACS is on, and the first after.

Backports of commit c41e2fb67e26 ("PCI: Enable ACS after configuring IOMMU for OF platforms"), which
needs the order of v6.15; all were reverted (bugzilla.kernel.org 221234). For 5.10 and 6.6 the first
release is that of the same days.
"""
_NO_PEERS: Peers = MappingProxyType({})
_WANTED = Value("a kernel that turns ACS on before it forms IOMMU groups")


def judge_kernel(host: HostAccess, peers: Peers = _NO_PEERS) -> list[Finding]:
    """Judge the kernel's release and its command line.

    Args:
        host: Where it runs.
        peers: The GPUs and NICs for which its words matter; empty if not known.
    """
    platform = host.platform()
    found = Value("not known") if platform.kernel is None else Value(platform.kernel)
    release = KernelRelease.parse(platform.kernel)
    options = [option.strip('"') for option in platform.pci_options]
    lints = judge_command_line(platform, release, [*lint_devices(host, options, peers)])
    if platform.groups is not None and not platform.groups:
        reason = "there are no IOMMU groups"
        return [*lints, _groups(State.NOT_APPLICABLE, found, reason, Severity.INFO)]
    return [*lints, _judge_groups(release, found)]


def _judge_groups(release: KernelRelease | None, found: Value) -> Finding:
    if release is None:
        return _groups(State.ERROR, UNKNOWN, "the kernel's release is not known", Severity.INFO)
    if release.series not in _GROUPS_BEFORE_ACS:
        return _groups(State.PASS, found, "")
    first, mended = _GROUPS_BEFORE_ACS[release.series]
    series = ".".join(map(str, release.series))
    last = mended - 1
    bad = f"{series}.{first}" if first == last else f"{series}.{first} to {series}.{last}"
    if release.stable is None:
        return _groups(
            State.ERROR,
            found,
            f"its name does not say which stable release it is built from: {bad} form groups "
            "before ACS is on",
            Severity.INFO,
        )
    if not first <= release.stable < mended:
        return _groups(State.PASS, found, "")
    unless = ", unless its maker mended it" if release.changed else ""
    return _groups(
        State.FAIL,
        found,
        f"{bad} form groups before ACS is on{unless}: functions that ports isolate share one "
        "group (bugzilla.kernel.org 221234)",
        remedy=Remedy(RemedyKind.SOFTWARE, f"install kernel {series}.{mended} or later, reboot"),
    )


def _groups(
    state: State,
    found: Value,
    reason: str,
    severity: Severity = Severity.WARNING,
    remedy: Remedy | None = None,
) -> Finding:
    return Finding(GROUPS, HOST, severity, state, found, _WANTED, reason, remedy)
