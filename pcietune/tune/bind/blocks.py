"""What stands against binding one function to VFIO."""

from collections.abc import Collection, Iterator

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import FabricPlan
from pcietune.model.vfio_drivers import names_vfio_driver
from pcietune.tune.audit.concerning import standing_against
from pcietune.tune.audit.handed_over import duty_of
from pcietune.tune.bind.candidates import policy_of, role_of
from pcietune.tune.bind.scene import Scene, override_of

_GIVES_WAY = (None, "pci-stub", "pcieport")
"""Drivers beside which VFIO takes a group (Documentation/driver-api/vfio.rst), and none."""

_NVIDIA = "nvidia"


def blocks(
    scene: Scene,
    function: PciFunction,
    state: FunctionState,
    unit: Collection[PciFunction],
    *,
    takes: bool,
) -> Iterator[str]:
    """Yield every reason, as a phrase about the function.

    Args:
        scene: What decides.
        function: Which; VFIO does not have it.
        state: What sysfs says of it.
        unit: What is bound together with it, itself included.
        takes: Whether it may be taken from another driver.
    """
    yield from _by_decision(scene, function, state, unit)
    yield from _by_judgement(scene, function)
    yield from _by_group(scene, state, [other.address for other in unit])
    driver = scene.drivers.driver(function)
    yield from _by_driver(scene, function, driver, takes=takes)
    override = override_of(scene.host, function)
    if override is not None and not names_vfio_driver(override):
        yield f"its driver_override is {override}, which somebody else set"
    if driver is None or takes:
        yield from (hold.text for hold in scene.holds(function))


def _by_decision(
    scene: Scene, function: PciFunction, state: FunctionState, unit: Collection[PciFunction]
) -> Iterator[str]:
    """Yield why it is not meant to be handed over."""
    audited = scene.audited
    protected = audited.protection.why.get(function.address)
    if protected is not None:
        yield f"is protected: {protected}"
    elif all(role_of(scene.host, audited, each) is None for each in unit):
        yield f"is none of the GPUs, NICs and NVSwitches of profile {audited.profile.name}"
    duty = duty_of(audited.fabric, audited.yardstick, function)
    if duty is not ModeName.VM:
        yield f"its duty is {duty}"
    role = role_of(scene.host, audited, function)
    if role is RoleName.DPU:
        yield "is a DPU"
    if role is RoleName.NVSWITCH:
        yield from _by_fabric(policy_of(audited, function).fabric)
    if role is not None and state.physical_function is None:
        yield from _by_attachment(audited.profile.roles[role].attach)
    if scene.vfio.unsafe_noiommu is not False:
        known = scene.vfio.unsafe_noiommu is True
        yield f"enable_unsafe_noiommu_mode of vfio is {'on' if known else 'not known'}"


def _by_attachment(attach: Attach) -> Iterator[str]:
    match attach:
        case Attach.VF:
            yield "VMs get its virtual functions, not itself"
        case Attach.MDEV:
            yield "VMs get its mediated devices, not itself"
        case Attach.PF:
            pass


def _by_fabric(plan: FabricPlan) -> Iterator[str]:
    match plan:
        case FabricPlan.NONE:
            yield "NVSwitches are left alone: vfio.fabric is none"
        case FabricPlan.HOST_FM:
            yield "Fabric Manager on this host has the NVSwitches: vfio.fabric is host-fm"
        case FabricPlan.SERVICE_VM | FabricPlan.IN_GUEST:
            pass


def _by_judgement(scene: Scene, function: PciFunction) -> Iterator[str]:
    for finding in standing_against(scene.host, scene.audited.findings, function):
        about = finding.subject.address
        where = "" if about == function.address else f" of {about or finding.subject.path}"
        reason = finding.reason or f"{finding.found.text}, wanted {finding.wanted.text}"
        remedy = (
            "" if finding.remedy is None else f"; {finding.remedy.kind}: {finding.remedy.command}"
        )
        yield f"{finding.id}{where} is not as wanted: {reason}{remedy}"


def _by_group(
    scene: Scene, state: FunctionState, together: Collection[PciAddress]
) -> Iterator[str]:
    if state.group is NOT_KNOWN:
        yield "its IOMMU group is not known"
        return
    group = scene.host.platform().group(state.group)
    if group is None:
        yield "no IOMMU translates it, and VFIO takes only what one does"
        return
    for address in group.members:
        other = scene.audited.fabric.functions.get(address)
        if other is None:
            yield f"IOMMU group {group.number} also holds {address}, of which nothing is known"
            continue
        if address in together or _gives_way(scene, other):
            continue
        driver = scene.drivers.driver(other)
        has = "whose driver is not known" if driver is NOT_KNOWN else f"which {driver} has"
        yield f"IOMMU group {group.number} also holds {address} ({other.id}), {has}"


def _gives_way(scene: Scene, other: PciFunction) -> bool:
    driver = scene.drivers.driver(other)
    if driver in _GIVES_WAY:
        return driver != "pcieport" or other.is_pci_bridge
    try:
        return scene.host.state(other).vfio is True
    except PcietuneError:  # it vanished
        return True


def _by_driver(
    scene: Scene, function: PciFunction, driver: str | NotKnown | None, *, takes: bool
) -> Iterator[str]:
    if driver is NOT_KNOWN:
        yield "whether a driver has it is not known"
    elif driver is not None and not takes:
        yield (
            f"{driver} has it, and only pcietune vfio bind takes a function from a driver, after "
            "its checks"
        )
    elif driver == _NVIDIA and _tied(scene, function):
        yield (
            "NVSwitches tie it to other GPUs, and taking it from nvidia on a running host is "
            "reported to hang: let the boot bind it, by vfio.bind in the settings"
        )


def _tied(scene: Scene, function: PciFunction) -> bool:
    """Return whether NVSwitches connect a GPU, protected ones included, which have no role."""
    if role_of(scene.host, scene.audited, function) is not RoleName.GPU:
        return False
    role = scene.audited.profile.roles.get(RoleName.NVSWITCH)
    functions = scene.audited.fabric.functions.values()
    return role is not None and any(role.pattern.matches(each) for each in functions)
