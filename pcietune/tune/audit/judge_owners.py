"""Judge who else gives the profile's functions to VFIO, or sets what pcietune sets."""

from collections.abc import Callable, Collection, Iterable, Mapping

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.owners import Owner, OwnerKind, Owners
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.vfio import VfioPolicy
from pcietune.tune.audit.judge_module_ids import judge_module_ids

DRIVERCTL = "owner.driverctl"
LIBVIRT = "owner.libvirt-managed"
VFIO_MANAGER = "owner.vfio-manager"
NIC_OPERATOR = "owner.nic-operator"
SRIOV_OPERATOR = "owner.sriov-operator"
UNREAD = "owner.unread"

_ALONE = Value("nobody else, or somebody who comes after apply")
_ONE_BINDS = Value("one that binds it")


def judge_owners(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    policy: VfioPolicy,
    owners: Owners | None,
) -> list[Finding]:
    """Return a finding on each other owner of functions that serve VMs.

    Args:
        host: The host.
        fabric: Its functions.
        roles: The roles of those that serve VMs.
        policy: What pcietune itself hands over.
        owners: Who else is at work there; None if that is not known, as of a dump.
    """
    if owners is None or not roles:
        return []
    findings = judge_module_ids(host, fabric, roles, owners)
    for owner in owners.found:
        findings += _judge(owner, fabric, roles, policy)
    return [*findings, *_unread(owners.not_known)]


def _judge(
    owner: Owner, fabric: Fabric, roles: Mapping[PciAddress, RoleName], policy: VfioPolicy
) -> list[Finding]:
    theirs = [address for address in owner.addresses if address in roles]
    match owner.kind:
        case OwnerKind.DRIVERCTL:
            return [
                _driverctl(owner, fabric, address, gate=policy.binds(roles[address]))
                for address in theirs
            ]
        case OwnerKind.LIBVIRT_MANAGED:
            return [_libvirt(owner, fabric, address) for address in theirs]
        case OwnerKind.VFIO_MANAGER:
            return _where(RoleName.GPU, roles, lambda: _vfio_manager(owner))
        case OwnerKind.NIC_OPERATOR:
            return _where(RoleName.NIC, roles, lambda: _nic_operator(owner))
        case OwnerKind.SRIOV_OPERATOR:
            return _where(RoleName.NIC, roles, lambda: _sriov_operator(owner, theirs))
        case _:  # judged by what they take, all at once
            return []


def _where(
    role: RoleName, roles: Mapping[PciAddress, RoleName], finding: Callable[[], Finding]
) -> list[Finding]:
    return [finding()] if role in roles.values() else []


def _driverctl(owner: Owner, fabric: Fabric, address: PciAddress, *, gate: bool) -> Finding:
    contradicts = gate and "vfio" not in owner.says
    if contradicts:
        reason = (
            f"driverctl gives it {owner.says} at every boot, and `vfio: bind` hands it to VFIO: "
            "who comes last wins"
        )
        remedy = Remedy(RemedyKind.SOFTWARE, f"driverctl unset-override {address}")
    else:
        reason = (
            f"driverctl gives it {owner.says} at every boot; pcietune-apply.service comes before "
            "that where it is enabled, by its drop-in for driverctl@.service"
        )
        remedy = None
    return Finding(
        DRIVERCTL,
        Subject.of(fabric.functions[address]),
        Severity.WARNING if contradicts else Severity.INFO,
        State.FAIL,
        Value(f"{owner.says}, by {owner.where}", owner.says),
        _ONE_BINDS if contradicts else _ALONE,
        reason,
        remedy,
    )


def _libvirt(owner: Owner, fabric: Fabric, address: PciAddress) -> Finding:
    return Finding(
        LIBVIRT,
        Subject.of(fabric.functions[address]),
        Severity.INFO,
        State.FAIL,
        Value(f"managed='yes', in {owner.where}", "managed"),
        _ALONE,
        "libvirt takes it from its driver when a VM starts, and gives it back when the VM ends; "
        "pcietune-apply.service comes before libvirt where it is enabled",
    )


def _vfio_manager(owner: Owner) -> Finding:
    return _operator(
        VFIO_MANAGER,
        owner,
        Severity.INFO,
        "NVIDIA's GPU operator binds every GPU to VFIO when its pod starts, and takes them back "
        "when it is replaced; pcietune-apply.service comes before kubelet where it is enabled",
    )


def _nic_operator(owner: Owner) -> Finding:
    return _operator(
        NIC_OPERATOR,
        owner,
        Severity.WARNING,
        "a template of it with gpuDirectOptimized sets ATS_ENABLED=0 in the NICs' firmware, which "
        "is for bare metal: after the next reboot they have no ATS",
        Remedy(
            RemedyKind.SOFTWARE,
            "leave gpuDirectOptimized out of the NicConfigurationTemplate for hosts that serve VMs",
        ),
    )


def _sriov_operator(owner: Owner, theirs: Collection[PciAddress]) -> Finding:
    which = f" of {', '.join(map(str, theirs))}" if theirs else ""
    return _operator(
        SRIOV_OPERATOR,
        owner,
        Severity.INFO,
        f"the operator makes VFs{which} and binds them, and may set up the NICs' firmware anew; "
        "pcietune-apply.service comes before kubelet where it is enabled",
    )


def _operator(
    finding_id: str, owner: Owner, severity: Severity, reason: str, remedy: Remedy | None = None
) -> Finding:
    found = Value(f"at work here, by {owner.where}", owner.where)
    return Finding(finding_id, HOST, severity, State.FAIL, found, _ALONE, reason, remedy)


def _unread(not_known: Iterable[str]) -> list[Finding]:
    """Return one finding on all that could not be looked into: it is not taken for nobody."""
    sentences = "; ".join(not_known)
    if not sentences:
        return []
    error = NotPermittedError(f"not known: {sentences}", hint="run pcietune as root")
    return [Finding.unread(UNREAD, HOST, _ALONE, error, Severity.INFO)]
