"""Judge the NICs' ATS: the kernel owns it, so it is only looked at.

When the kernel turns it on is the IOMMU driver's doing (drivers/iommu/intel/iommu.c, amd/iommu.c,
arm/arm-smmu-v3): Intel in legacy mode under a translating domain only, so that an idle NIC under
an identity domain gets it when VFIO attaches one; AMD under any domain but a blocking one.
"""

from dataclasses import dataclass
from enum import Enum

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.ats_proof import AtsProof
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import IommuKind
from pcietune.model.profile import AtsPolicy, Attach
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.ats import Ats
from pcietune.tune.ats_causes import Verdict, hindrance

ID = "nic.ats"

_MELLANOX = 0x15B3
_GRACE_ROOT_PORTS = ("10de:22b1", "10de:22b2", "10de:22b8")  # Grace CPUs have no PCIe ATS


@dataclass(frozen=True, slots=True)
class AtsWanted:
    """What is wanted of the NICs' ATS.

    Attributes:
        policy: By the mode.
        attach: What of a NIC is handed to a VM.
        proofs: Functions whose ATS the kernel was seen to enable in this boot.
    """

    policy: AtsPolicy
    attach: Attach = Attach.PF
    proofs: frozenset[AtsProof] = frozenset()


class AtsAction(Enum):
    """What apply may do about a function's ATS."""

    PROVE = "prove"  # let the kernel turn it on for a moment: the group's type to DMA and back
    HEAL = "heal"  # the same switch, where the kernel had it on and somebody cleared it
    FORCE = "force"  # a raw write, for kernels that cannot


@dataclass(frozen=True, slots=True)
class JudgedAts:
    """A function's ATS, judged.

    Attributes:
        group: Name of its switch group.
        function: The function.
        finding: How it was judged.
        action: What apply may do about it; None if nothing.
    """

    group: str
    function: PciFunction
    finding: Finding
    action: AtsAction | None = None


def judge_ats(
    host: HostAccess,
    fabric: Fabric,
    group: SwitchGroup,
    wanted: AtsWanted,
) -> list[JudgedAts]:
    """Judge the ATS of what each NIC of a switch group hands to a VM."""
    policy = wanted.policy
    if policy is AtsPolicy.IGNORE:
        return []
    return [
        JudgedAts(group.name, function, _judge(host, fabric, function, policy))
        for nic in group.nics
        for function in _handed_over(host, fabric, nic, wanted.attach)
    ]


def _handed_over(
    host: HostAccess, fabric: Fabric, nic: PciFunction, attach: Attach
) -> list[PciFunction]:
    """Return the functions that a VM gets: the NIC, or its VFs where there are any yet."""
    if attach is not Attach.VF:
        return [nic]
    try:
        virtual = host.state(nic).virtual_functions
    except PcietuneError:
        return [nic]
    return [fabric.functions[vf] for vf in virtual if vf in fabric.functions] or [nic]


def _judge(host: HostAccess, fabric: Fabric, function: PciFunction, policy: AtsPolicy) -> Finding:
    wanted = "Enable-" if policy is AtsPolicy.KERNEL_OFF else "Enable+"
    try:
        ats = Ats.find(host.config(function))
        found = _found(ats)
        verdict = (
            _judge_off(host, function, ats)
            if policy is AtsPolicy.KERNEL_OFF
            else _judge_on(host, fabric, function, ats)
        )
    except PcietuneError as error:
        wanted_value = Value(wanted, None, (wanted,))
        return Finding.unread(ID, Subject.of(function), wanted_value, error)
    return Finding(
        ID,
        Subject.of(function),
        verdict.severity,
        verdict.state,
        found,
        Value(wanted, None, (wanted,)),
        verdict.reason,
        verdict.remedy,
        ExitCode.UNREADABLE if verdict.state is State.ERROR else ExitCode.OK,
    )


def _found(ats: Ats | None) -> Value:
    if ats is None:
        return Value("no ATS capability")
    bit = "Enable+" if ats.enabled else "Enable-"
    return Value(f"{bit} in ATSCtl {ats.control:#06x}", f"{ats.control:#06x}", (bit,))


def _judge_off(host: HostAccess, function: PciFunction, ats: Ats | None) -> Verdict:
    if ats is None or not ats.enabled:
        return Verdict(State.PASS, "")
    return Verdict(
        State.FAIL,
        "translation requests fail: there is no IOMMU to answer them"
        if host.platform().groups == {}
        else "on bare metal translation requests only cost time",
        _firmware(function, "off"),
        Severity.WARNING,
    )


def _judge_on(host: HostAccess, fabric: Fabric, function: PciFunction, ats: Ats | None) -> Verdict:
    if ats is None:
        return _without_capability(fabric, function)
    state = host.state(function)
    cause = hindrance(host, fabric, function, state, ats)
    if cause is not None:
        if ats.enabled:
            return Verdict(State.FAIL, f"on, but of no use: {cause.reason}", cause.remedy)
        return cause
    if ats.enabled:
        return Verdict(State.PASS, "")
    if state.vfio is not None and state.in_use_by_vfio:
        return Verdict(
            State.FAIL,
            "in use by VFIO and off: the VM's peer-to-peer traffic goes through the root complex",
            Remedy(RemedyKind.SOFTWARE, "stop the VM and start it again; see dmesg for why"),
        )
    return _judge_idle(host, function, state)


def _without_capability(fabric: Fabric, function: PciFunction) -> Verdict:
    root = next(iter(fabric.ports_above(function)), None)
    if root is not None and root.id in _GRACE_ROOT_PORTS:
        return Verdict(State.NOT_APPLICABLE, "Grace CPUs do not have PCIe ATS")
    if function.vendor == _MELLANOX:
        reason = "the NIC's firmware has ATS switched off, so there is no capability"
    else:
        reason = "it has no ATS capability, so it cannot send translated requests"
    return Verdict(State.FAIL, reason, _firmware(function, "on"))


def _firmware(function: PciFunction, wanted: str) -> Remedy:
    """Return how ATS is switched on or off where only the device's firmware can."""
    if function.vendor == _MELLANOX:
        value = "true" if wanted == "on" else "false"
        command = f"mlxconfig -d {function.address} set ATS_ENABLED={value}, then reboot the host"
    else:
        command = f"switch ATS {wanted} in the device's firmware, if it can, then reboot the host"
    return Remedy(RemedyKind.FIRMWARE, command)


def _judge_idle(host: HostAccess, function: PciFunction, state: FunctionState) -> Verdict:
    platform = host.platform()
    group = platform.group(state.group)
    unit = platform.iommu_units.get(state.iommu_unit or "")
    kind = unit.kind if unit is not None else IommuKind.OTHER
    if state.vfio is None or state.group is NOT_KNOWN:
        return Verdict(
            State.ERROR,
            "off, and whether VFIO uses it or the kernel will turn it on is not known: a dump does "
            "not tell",
            Remedy(RemedyKind.SOFTWARE, "run pcietune on the host, or record it there"),
        )
    if group is None or group.type is None:
        return Verdict(
            State.ERROR,
            f"off, and the type of IOMMU group {state.group} is not readable: whether the kernel "
            "will turn it on is not known",
            Remedy(RemedyKind.SOFTWARE, "run pcietune as root, on the host itself"),
        )
    blocked = group.type == "blocked"
    if blocked or (group.type == "identity" and kind is not IommuKind.AMD):
        return Verdict(
            State.PENDING,
            f"idle under domain type {group.type}: the kernel turns ATS on when VFIO attaches it",
        )
    return Verdict(
        State.FAIL,
        f"off though idle under domain type {group.type}, where the kernel would have turned it "
        "on: the root port is missing in the firmware's ATS table (DMAR ATSR, IORT), or somebody "
        f"cleared {function.address}'s Enable bit behind the kernel's back",
        Remedy(
            RemedyKind.SOFTWARE,
            f"remove and rescan {function.address}; if it stays off, ATS in the firmware's setup",
        ),
    )
