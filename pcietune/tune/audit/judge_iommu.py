"""Judge the IOMMU units and the default domains that a mode wants."""

from collections.abc import Iterable, Sequence

from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.platform import IommuUnit
from pcietune.model.profile import IommuPolicy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.ats import Ats
from pcietune.tune.audit.judge_firmware_tables import judge_firmware_tables
from pcietune.tune.iommu_remedies import ANSWER_TRANSLATION_REQUESTS, TURN_ON_IOMMU

ENABLED = "iommu.enabled"
DEVICE_TLB = "iommu.device-tlb"
PASSTHROUGH = "iommu.passthrough"


def judge_iommu(
    host: HostAccess,
    peers: Sequence[PciFunction],
    groups: Sequence[SwitchGroup],
    policy: IommuPolicy,
) -> list[Finding]:
    """Judge the IOMMU by the mode's policy.

    Args:
        host: Where facts and registers come from.
        peers: The host's GPUs and NICs, wherever they sit.
        groups: Its switch groups; nothing is asked of the IOMMU for VMs without one.
        policy: What the mode wants.
    """
    if policy is IommuPolicy.OFF_OR_PASSTHROUGH:
        return [_judge_passthrough(host, peers)] if peers else []
    if not groups or policy is IommuPolicy.IGNORE:
        return []
    iommu_groups = host.platform().groups
    wanted = Value("an IOMMU that is on")
    if iommu_groups is None:
        return [Finding.unread(ENABLED, HOST, wanted, _not_told("whether an IOMMU is on"))]
    enabled = bool(iommu_groups)
    judged = Finding(
        ENABLED,
        HOST,
        Severity.ERROR,
        State.PASS if enabled else State.FAIL,
        Value(f"{len(iommu_groups)} IOMMU groups", str(len(iommu_groups))),
        wanted,
        "" if enabled else "no IOMMU is on: VFIO has nothing to isolate functions with",
        None if enabled else TURN_ON_IOMMU,
    )
    units = [_judge_device_tlb(host, groups, unit) for unit in _units(host, groups)]
    return [judged, *units, *_unknown_units(host, groups), *judge_firmware_tables(host)]


def _not_told(what: str) -> ConfigSpaceError:
    return ConfigSpaceError(
        f"{what} is not known: a dump does not tell",
        hint="add a listing of IOMMU groups: find /sys/kernel/iommu_groups -type l",
    )


def _units(host: HostAccess, groups: Sequence[SwitchGroup]) -> Iterable[IommuUnit]:
    """Return the units that serve the NICs, in the order of names."""
    units = host.platform().iommu_units
    names = set()
    for group in groups:
        for nic in group.nics:
            try:
                names.add(host.state(nic).iommu_unit)
            except PcietuneError:
                continue  # judged where its ATS is
    return [units[name] for name in sorted(units) if name in names]


def _unknown_units(host: HostAccess, groups: Sequence[SwitchGroup]) -> Iterable[Finding]:
    """Yield what cannot be judged: NICs in an IOMMU group of which no unit is named."""
    for nic in (nic for group in groups for nic in group.nics):
        try:
            state = host.state(nic)
        except PcietuneError:
            continue  # judged where its ATS is
        if state.group is not None and state.iommu_unit not in host.platform().iommu_units:
            error = ConfigSpaceError(
                f"{nic.address}: the kernel does not say which IOMMU serves it",
                hint="compare /sys/class/iommu with dmesg",
            )
            yield Finding.unread(DEVICE_TLB, Subject.of(nic), Value("device TLB", "true"), error)


def _judge_device_tlb(host: HostAccess, groups: Sequence[SwitchGroup], unit: IommuUnit) -> Finding:
    subject = Subject(unit.name)
    wanted = Value("device TLB", "true")
    if unit.device_tlb is None:
        proof = _proved_by(host, groups, unit)
        if proof is None:
            error = ConfigSpaceError(
                f"{unit.name}: this kernel does not say whether it has a device TLB",
                hint="dmesg and the firmware's IORT may say it",
            )
            return Finding.unread(DEVICE_TLB, subject, wanted, error)
        found = Value(f"ATS is on at {proof}", "true")
        return Finding(DEVICE_TLB, subject, Severity.ERROR, State.PASS, found, wanted, "")
    return Finding(
        DEVICE_TLB,
        subject,
        Severity.ERROR,
        State.PASS if unit.device_tlb else State.FAIL,
        Value("device TLB" if unit.device_tlb else "no device TLB", str(unit.device_tlb).lower()),
        wanted,
        "" if unit.device_tlb else "translation requests of the NICs behind it are not answered",
        None if unit.device_tlb else ANSWER_TRANSLATION_REQUESTS,
    )


def _proved_by(host: HostAccess, groups: Sequence[SwitchGroup], unit: IommuUnit) -> str | None:
    """Return the address of a NIC behind ``unit`` whose ATS the kernel has turned on.

    That a bit is on where nothing is translated proves nothing: somebody may have written it.
    """
    for group in groups:
        for nic in group.nics:
            try:
                ats, state = Ats.find(host.config(nic)), host.state(nic)
                if ats is None or not ats.enabled or state.iommu_unit != unit.name:
                    continue
                own = host.platform().group(state.group)
                if (own is not None and own.translates) or (state.vfio and state.enable_count):
                    return str(nic.address)
            except PcietuneError:
                continue
    return None


def _judge_passthrough(host: HostAccess, peers: Sequence[PciFunction]) -> Finding:
    platform = host.platform()
    translated: list[str] = []
    unread: list[str] = []
    for function in peers:
        try:
            number = host.state(function).group
        except PcietuneError:
            unread.append(str(function.address))
            continue
        if number is None:
            continue
        group = platform.group(number)
        if group is None or group.translates is None:
            unread.append(str(function.address))
        elif group.translates:
            translated.append(str(function.address))
    wanted = Value("no IOMMU, or identity domains")
    if platform.groups is None:
        unknown = _not_told("whether an IOMMU translates addresses")
        return Finding.unread(PASSTHROUGH, HOST, wanted, unknown)
    if translated:
        return Finding(
            PASSTHROUGH,
            HOST,
            Severity.ERROR,
            State.FAIL,
            Value(f"translating domains at {len(translated)} functions", "DMA"),
            wanted,
            f"addresses of {', '.join(translated)} are translated, so peers miss the switch's "
            "windows and go up to the root complex",
            Remedy(RemedyKind.KERNEL_ARGS, "iommu=pt, then reboot"),
        )
    if unread:
        error = ConfigSpaceError(f"{', '.join(unread)}: the IOMMU group's type is not readable")
        return Finding.unread(PASSTHROUGH, HOST, wanted, error)
    return Finding(
        PASSTHROUGH,
        HOST,
        Severity.ERROR,
        State.PASS,
        Value("identity domains" if platform.groups else "no IOMMU"),
        wanted,
        "",
    )
