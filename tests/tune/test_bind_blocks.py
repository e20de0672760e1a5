"""What keeps a function from VFIO: by the kernel's rules (vfio.rst) and the host's own use."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ConfigBuilder
from trees.fabrics import two_switches
from trees.function import Function, downstream_port, nic, nvswitch
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.driver_kernel import DriverKernel, scene
from tune.faults import set_word
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT
from tune.profiles import PROFILE, handing_over, with_roles

from pcietune.model.binding import Binding, BindState
from pcietune.model.hold import Hold, HoldKind
from pcietune.model.profile import (
    Attach,
    FunctionPattern,
    GroupPolicy,
    Layout,
    ModeName,
    Role,
    SwitchGroupLayout,
)
from pcietune.model.protection import Protect, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import FabricPlan, VfioPolicy
from pcietune.model.vfio_drivers import VfioDrivers
from pcietune.tune.audit.audit import audit
from pcietune.tune.bind.candidates import named
from pcietune.tune.bind.judge import flat, judge
from pcietune.tune.bind.scene import Scene

AUDIO = "0000:23:00.1"
NVSWITCH = "0000:50:00.0"
WITH_NVSWITCHES = with_roles({RoleName.NVSWITCH: Role(FunctionPattern(("10de:1af1",)))})


def audio(driver: str | None) -> Function:
    """Return the audio function of a GPU."""
    return Function(
        AUDIO, ConfigBuilder("10de:1aef", 0x040300), below=GPU_PORT, driver=driver, group=4
    )


def tuned(tree: TreeHost) -> TreeHost:
    """Let the ports be as the profile wants them."""
    set_word(tree, NIC_PORT, 0x005D)  # DirectTrans+
    return tree


def bindings(where: Scene, *addresses: str, takes: bool = True) -> dict[str, Binding]:
    functions = named(where.audited, addresses)
    found = judge(where, functions, {f.address for f in functions}, takes=takes)
    return {str(b.function.address): b for b in flat(found)}


def one(where: Scene, address: str, *, takes: bool = True) -> Binding:
    return bindings(where, address, takes=takes)[address]


@pytest.fixture
def kernel(tmp_path: Path) -> DriverKernel:
    return DriverKernel(tuned(one_switch(tmp_path)))


def test_a_function_that_is_as_wanted_and_idle_is_ready(kernel: DriverKernel) -> None:
    where = scene(kernel)

    assert {b.state for b in bindings(where, GPU, NIC).values()} == {BindState.READY}


def test_what_a_port_above_lacks_keeps_the_nic_and_not_the_gpu_beside_it(tmp_path: Path) -> None:
    where = scene(DriverKernel(one_switch(tmp_path)))

    found = one(where, NIC)

    assert found.state is BindState.BLOCKED
    assert found.why[0].startswith(f"port.nic-side.DirectTrans of {NIC_PORT} is not as wanted")
    assert found.why[0].endswith("; register: pcietune apply --mode vm")
    assert one(where, GPU).state is BindState.READY


def test_a_port_that_cannot_be_read_is_not_taken_for_right(tmp_path: Path) -> None:
    port = downstream_port(GPU_PORT, below="0000:21:00.0")
    tree = one_switch(tmp_path, instead=[replace(port, config=port.config.cut(64))])

    assert one(scene(DriverKernel(tree)), GPU).state is BindState.BLOCKED


def test_a_missing_card_of_its_switch_keeps_no_function_from_its_vm(kernel: DriverKernel) -> None:
    two = Layout(switch_groups=SwitchGroupLayout((1,), {RoleName.GPU: (2,)}))

    where = scene(kernel, profile=replace(PROFILE, layout=two))

    (missing,) = (
        f for f in where.audited.findings if f.id.startswith("layout.") and f.state == "fail"
    )
    assert missing.subject.path == where.audited.groups[0].name
    assert one(where, GPU).state is BindState.READY


@pytest.mark.parametrize("driver", ["vfio-pci", "mlx5_vfio_pci", "nvgrace_gpu_vfio_pci"])
def test_a_function_that_any_vfio_driver_has_is_left_to_it(
    kernel: DriverKernel, driver: str
) -> None:
    kernel.bind(NIC, driver)

    assert one(scene(kernel), NIC).state is BindState.BOUND


def test_a_function_that_a_vm_has_open_is_in_use(kernel: DriverKernel) -> None:
    kernel.bind(NIC, "vfio-pci")
    kernel.tree.put(f"sys/bus/pci/devices/{NIC}/enable", "1")

    assert one(scene(kernel), NIC).state is BindState.IN_USE


def test_without_an_iommu_group_vfio_takes_nothing(tmp_path: Path) -> None:
    where = scene(DriverKernel(tuned(one_switch(tmp_path, iommu=False))))

    assert "no IOMMU translates it, and VFIO takes only what one does" in one(where, GPU).why


def test_another_member_of_the_group_with_a_driver_blocks_and_is_named(
    kernel: DriverKernel,
) -> None:
    kernel.tree.add(Function("0000:30:00.0", ConfigBuilder("144d:a80a", 0x010802), group=4))
    kernel.bind("0000:30:00.0", "nvme")

    where = scene(kernel)

    assert (
        "IOMMU group 4 also holds 0000:30:00.0 (144d:a80a), which nvme has" in one(where, GPU).why
    )


def test_a_member_of_the_group_of_which_nothing_is_known_blocks(kernel: DriverKernel) -> None:
    kernel.tree.add(Function("0000:30:00.0", ConfigBuilder("144d:a80a", 0x010802), group=4))
    (kernel.tree.root / "sys/bus/pci/devices/0000:30:00.0").unlink()

    why = one(scene(kernel), GPU).why

    assert "IOMMU group 4 also holds 0000:30:00.0, of which nothing is known" in why


@pytest.mark.parametrize("driver", [None, "pci-stub", "vfio-pci"])
def test_drivers_beside_which_vfio_takes_a_group_do_not_block(
    kernel: DriverKernel, driver: str | None
) -> None:
    kernel.tree.add(Function("0000:30:00.0", ConfigBuilder("144d:a80a", 0x010802), group=4))
    if driver is not None:
        kernel.bind("0000:30:00.0", driver)

    assert not any("IOMMU group 4" in each for each in one(scene(kernel), GPU).why[1:])


def test_a_companion_is_bound_with_its_gpu(kernel: DriverKernel) -> None:  # case E01
    kernel.tree.add(audio("snd_hda_intel"))

    found = bindings(scene(kernel), GPU)

    assert {address: b.state for address, b in found.items()} == {
        GPU: BindState.READY,
        AUDIO: BindState.READY,
    }
    assert f"echo {AUDIO} > /sys/bus/pci/devices/{AUDIO}/driver/unbind" in found[AUDIO].steps


def test_a_companion_that_may_not_go_keeps_the_whole_slot(kernel: DriverKernel) -> None:
    kernel.tree.add(audio("snd_hda_intel"))

    def holds(function: object) -> list[Hold]:
        held = str(getattr(function, "address", "")) == AUDIO
        return [Hold(HoldKind.OPEN, "is /dev/snd/controlC1, which x (pid 7) has open")] * held

    found = bindings(scene(kernel, holds=holds), GPU)

    assert found[GPU].state is BindState.BLOCKED
    assert found[GPU].why == (f"goes to VFIO only together with {AUDIO}",)


def test_of_identical_functions_only_the_one_that_is_named_is_bound(tmp_path: Path) -> None:
    # case E11: by address, never by id
    tree = two_switches(tmp_path)
    for port in (NIC_PORT, "0000:42:04.0"):
        set_word(tree, port, 0x005D)

    found = bindings(scene(DriverKernel(tree)), GPU)

    assert list(found) == [GPU]
    assert not any("new_id" in step or "10de" in step for step in found[GPU].steps)


def test_what_has_no_role_is_not_bound_though_its_id_is_a_rails(kernel: DriverKernel) -> None:
    kernel.tree.add(replace(nic("0000:30:00.0"), group=9, iommu="dmar0"))  # below no GPU's switch

    found = one(scene(kernel), "0000:30:00.0")

    assert found.why == ("is none of the GPUs, NICs and NVSwitches of profile tested",)


def test_what_is_protected_is_not_bound(kernel: DriverKernel) -> None:
    where = scene(kernel)
    wish = Protect(Selector.ADDRESS, GPU, reason="the display")
    yardstick = replace(where.audited.yardstick, protect=(wish,))
    again = audit(where.host, where.audited.fabric, yardstick)

    found = one(replace(where, audited=again), GPU)

    assert found.why[0] == f"is protected: address {GPU} in the settings: the display"


def test_on_bare_metal_nothing_is_bound(kernel: DriverKernel) -> None:
    assert "its duty is baremetal" in one(scene(kernel, mode=ModeName.BAREMETAL), GPU).why


def test_whatever_the_host_has_of_it_is_told(kernel: DriverKernel) -> None:
    kernel.bind(NIC, "mlx5_core")
    held = (Hold(HoldKind.BOND, "has ib0, which is part of bond0"), Hold(HoldKind.VFS, "has 2 VFs"))

    found = one(scene(kernel, holds=lambda _: held), NIC)

    assert found.why == tuple(hold.text for hold in held)


def test_apply_takes_nothing_from_a_driver(kernel: DriverKernel) -> None:
    kernel.bind(NIC, "mlx5_core")

    found = one(scene(kernel), NIC, takes=False)

    assert found.why[0].startswith("mlx5_core has it, and only pcietune vfio bind takes")


def test_an_override_that_somebody_else_set_is_not_overwritten(kernel: DriverKernel) -> None:
    kernel.tree.put(f"sys/bus/pci/devices/{GPU}/driver_override", "nvidia")

    assert one(scene(kernel), GPU).why == (
        "its driver_override is nvidia, which somebody else set",
    )


def test_an_override_of_vfio_without_its_driver_is_half_a_binding(kernel: DriverKernel) -> None:
    kernel.tree.put(f"sys/bus/pci/devices/{GPU}/driver_override", "vfio-pci")

    assert one(scene(kernel), GPU).state is BindState.HALF_BOUND


@pytest.mark.parametrize(
    ("vfio", "said"),
    [(VfioDrivers(unsafe_noiommu=True), "on"), (VfioDrivers(unsafe_noiommu=None), "not known")],
)
def test_unsafe_noiommu_mode_blocks_everything(
    kernel: DriverKernel, vfio: VfioDrivers, said: str
) -> None:
    found = one(scene(kernel, vfio=vfio), GPU)

    assert found.why == (f"enable_unsafe_noiommu_mode of vfio is {said}",)


@pytest.mark.parametrize(
    ("attach", "said"),
    [
        (Attach.VF, "VMs get its virtual functions, not itself"),
        (Attach.MDEV, "VMs get its mediated devices, not itself"),
    ],
)
def test_a_pf_whose_parts_are_handed_over_stays(
    kernel: DriverKernel, attach: Attach, said: str
) -> None:
    assert said in one(scene(kernel, profile=handing_over(attach)), NIC).why


def with_nvswitch(tree: TreeHost) -> TreeHost:
    tree.add(replace(nvswitch(NVSWITCH), group=9, iommu="dmar0"))
    return tree


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (FabricPlan.NONE, "NVSwitches are left alone: vfio.fabric is none"),
        (
            FabricPlan.HOST_FM,
            "Fabric Manager on this host has the NVSwitches: vfio.fabric is host-fm",
        ),
    ],
)
def test_nvswitches_that_the_host_keeps_are_not_bound(
    kernel: DriverKernel, plan: FabricPlan, said: str
) -> None:
    with_nvswitch(kernel.tree)
    policy = VfioPolicy((RoleName.GPU,), plan)

    assert one(scene(kernel, bind=policy, profile=WITH_NVSWITCHES), NVSWITCH).why == (said,)


def test_nvswitches_that_a_vm_runs_are_bound(kernel: DriverKernel) -> None:
    with_nvswitch(kernel.tree)
    policy = VfioPolicy((RoleName.NVSWITCH,), FabricPlan.SERVICE_VM)

    found = one(scene(kernel, bind=policy, profile=WITH_NVSWITCHES), NVSWITCH)

    assert found.state is BindState.READY


def test_nvidia_is_not_unbound_from_gpus_that_nvswitches_tie(kernel: DriverKernel) -> None:
    with_nvswitch(kernel.tree)
    kernel.bind(GPU, "nvidia")

    (why,) = one(scene(kernel, profile=WITH_NVSWITCHES), GPU).why

    assert why.startswith("NVSwitches tie it to other GPUs")
    assert one(scene(kernel), GPU).state is BindState.READY  # where there are none


def test_nvswitches_that_a_site_protects_tie_gpus_all_the_same(kernel: DriverKernel) -> None:
    with_nvswitch(kernel.tree)
    kernel.bind(GPU, "nvidia")
    where = scene(kernel, profile=WITH_NVSWITCHES)
    yardstick = replace(where.audited.yardstick, protect=(Protect(Selector.CLASS, "0680"),))
    again = audit(where.host, where.audited.fabric, yardstick)

    (why,) = one(replace(where, audited=again), GPU).why

    assert why.startswith("NVSwitches tie it to other GPUs")


def test_functions_of_one_group_go_together_or_not_at_all(tmp_path: Path) -> None:
    tree = tuned(one_switch(tmp_path))
    into_group(tree, NIC, 4)
    mode = replace(PROFILE.modes[ModeName.VM], groups=GroupPolicy.IGNORE)
    profile = replace(PROFILE, modes={ModeName.VM: mode})
    kernel = DriverKernel(tree)
    kernel.bind(NIC, "mlx5_core")

    together = bindings(scene(kernel, profile=profile), GPU, NIC)
    alone = bindings(scene(kernel, profile=profile), GPU)

    assert {b.state for b in together.values()} == {BindState.READY}
    assert alone[GPU].why == (f"IOMMU group 4 also holds {NIC} (15b3:101b), which mlx5_core has",)


def test_a_function_that_vanished_is_not_bound(kernel: DriverKernel) -> None:
    where = scene(kernel)
    (kernel.tree.directory(GPU) / "uevent").unlink()

    assert one(where, GPU).why == ("vanished",)
