"""Handing over, step by step, and what is left of it whatever fails in between."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ConfigBuilder
from trees.function import Function, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.driver_kernel import DriverKernel, driver_of, never, override_of, scene
from tune.faults import set_word, vanish
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT
from tune.profiles import handing_over

from pcietune.address import PciAddress
from pcietune.errors import (
    ConfigSpaceError,
    ExitCode,
    InconsistentHostError,
    InUseError,
    NotPermittedError,
    PcietuneError,
    RolledBackError,
)
from pcietune.model.binding import Binding, BindState, Bound
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold, HoldKind
from pcietune.model.profile import Attach, ModeName
from pcietune.model.protection import Protection
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy
from pcietune.tune.bind.candidates import named
from pcietune.tune.bind.gate import gate
from pcietune.tune.bind.judge import judge
from pcietune.tune.bind.judge_release import judge_release
from pcietune.tune.bind.run import bind, release
from pcietune.tune.bind.scene import Scene

AUDIO = "0000:23:00.1"
VF = "0000:24:00.1"
NATIVE = {NIC: "mlx5_core", GPU: "nvidia", VF: "mlx5_core"}
BOTH = VfioPolicy((RoleName.GPU, RoleName.NIC))
TAKING = [
    "modprobe vfio-pci",
    f"driver_override {NIC} vfio-pci",
    f"unbind {NIC}",
    f"probe {NIC}",
]


def give(where: Scene, *addresses: str, stop: Callable[[], bool] = never) -> Bound:
    functions = named(where.audited, addresses)
    asked = {function.address for function in functions}
    return bind(where, judge(where, functions, asked, takes=True), stop=stop)


def take_back(where: Scene, *addresses: str, stop: Callable[[], bool] = never) -> Bound:
    functions = named(where.audited, addresses)
    asked = {function.address for function in functions}
    return release(where, judge_release(where, functions, asked), stop=stop)


def only(bound: Bound, address: str) -> Binding:
    (found,) = (b for b in bound.bindings if str(b.function.address) == address)
    return found


def at(order: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Let something happen right before an order is obeyed, the first time."""
    happened: list[str] = []

    def before(text: str) -> None:
        if text == order and not happened:
            happened.append(text)
            act()

    return before


def raising(error: PcietuneError) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    set_word(host, NIC_PORT, 0x005D)  # DirectTrans+
    return host


@pytest.fixture
def kernel(tree: TreeHost) -> DriverKernel:
    """Return a kernel whose NIC has its native driver, and whose GPU has none."""
    kernel = DriverKernel(tree, NATIVE)
    kernel.bind(NIC, "mlx5_core")
    return kernel


def test_other_drivers_are_kept_off_before_the_native_one_lets_go(kernel: DriverKernel) -> None:
    bound = give(scene(kernel), NIC)

    assert kernel.log == TAKING
    assert (driver_of(kernel.tree, NIC), bound.exit_code()) == ("vfio-pci", ExitCode.OK)
    assert (only(bound, NIC).state, bound.changed) == (BindState.BOUND, True)


def test_what_vfio_has_is_left_alone(kernel: DriverKernel) -> None:
    kernel.bind(GPU, "nvgrace_gpu_vfio_pci")

    bound = give(scene(kernel), GPU)

    assert (kernel.log, bound.changed, bound.exit_code()) == ([], False, ExitCode.OK)


def test_what_is_blocked_is_left_alone_and_counts(tmp_path: Path) -> None:
    kernel = DriverKernel(one_switch(tmp_path))  # without DirectTrans

    bound = give(scene(kernel), NIC)

    assert (kernel.log, bound.exit_code()) == ([], ExitCode.DIFFERS)


@pytest.mark.parametrize("order", TAKING[1:])
def test_whichever_step_fails_all_is_as_it_was_found(kernel: DriverKernel, order: str) -> None:
    kernel.before = at(order, raising(ConfigSpaceError("the kernel did not take it")))

    bound = give(scene(kernel), NIC)

    assert (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC)) == ("mlx5_core", "")
    (error,) = bound.errors
    assert isinstance(error, RolledBackError)
    assert (only(bound, NIC).state, bound.changed) == (BindState.FAILED, False)


def test_a_module_that_cannot_be_loaded_ends_the_run_before_anything_is_touched(
    kernel: DriverKernel,
) -> None:
    kernel.before = at("modprobe vfio-pci", raising(NotPermittedError("not found")))

    bound = give(scene(kernel), GPU, NIC)

    assert kernel.log == ["modprobe vfio-pci"]
    assert bound.exit_code() is ExitCode.NOT_PERMITTED
    assert driver_of(kernel.tree, NIC) == "mlx5_core"


def test_a_driver_that_does_not_take_it_is_no_success(kernel: DriverKernel) -> None:
    kernel.broken.add("vfio-pci")

    bound = give(scene(kernel), NIC)

    assert "vfio-pci was to take it, but no driver has it; all is as it was found" in str(
        bound.errors[0]
    )
    assert (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC)) == ("mlx5_core", "")


def test_another_driver_that_is_quicker_is_told_and_left_where_it_is(tree: TreeHost) -> None:
    kernel = DriverKernel(tree, NATIVE)
    kernel.before = at(f"probe {GPU}", lambda: kernel.bind(GPU, "nvidia"))

    bound = give(scene(kernel), GPU)

    assert "but nvidia has it" in str(bound.errors[0])
    assert isinstance(bound.errors[0], InconsistentHostError)
    assert f"unbind {GPU}" not in kernel.log
    assert (driver_of(tree, GPU), override_of(tree, GPU)) == ("nvidia", "")


def left_over(tree: TreeHost, *addresses: str) -> None:
    """Leave functions an override, as the initramfs does or a run that was killed."""
    for address in addresses:
        tree.put(f"sys/bus/pci/devices/{address}/driver_override", "vfio-pci")


def test_what_the_driver_takes_as_soon_as_it_is_loaded_is_bound_too(tree: TreeHost) -> None:
    kernel = DriverKernel(tree, NATIVE)
    left_over(tree, GPU, NIC)

    bound = gate(scene(kernel, bind=BOTH), stop=never)

    assert {b.state for b in bound.bindings} == {BindState.BOUND}
    assert bound.exit_code() is ExitCode.OK
    assert kernel.log == ["modprobe vfio-pci", f"probe {GPU}"]


def test_what_is_blocked_is_not_bound_by_loading_the_driver_for_another(tmp_path: Path) -> None:
    kernel = DriverKernel(one_switch(tmp_path), NATIVE)  # without DirectTrans
    left_over(kernel.tree, GPU, NIC)

    bound = gate(scene(kernel, bind=BOTH), stop=never)

    assert (driver_of(kernel.tree, GPU), driver_of(kernel.tree, NIC)) == ("vfio-pci", None)
    assert override_of(kernel.tree, NIC) == ""
    found = only(bound, NIC)
    assert found.state is BindState.BLOCKED
    assert found.why[-1].startswith("its driver_override is taken away")


def test_what_is_protected_keeps_an_override_that_somebody_gave_it(tree: TreeHost) -> None:
    kernel = DriverKernel(tree, NATIVE)
    left_over(tree, NIC)
    where = scene(kernel)
    why = {PciAddress.parse(NIC): "has the default route, by ib0"}
    audited = replace(where.audited, protection=Protection(why=why))

    give(replace(where, audited=audited), NIC)

    assert (kernel.log, override_of(tree, NIC)) == ([], "vfio-pci")


def test_a_driver_is_not_loaded_that_would_take_what_nobody_named(tree: TreeHost) -> None:
    kernel = DriverKernel(tree, NATIVE)
    left_over(tree, NIC)

    bound = give(scene(kernel), GPU)

    assert f"would give it {NIC}, too, whose driver_override names it" in str(bound.errors[0])
    assert (driver_of(tree, NIC), driver_of(tree, GPU)) == (None, None)
    assert override_of(tree, GPU) == ""
    kernel.load("pci-stub")
    both = give(scene(kernel), GPU, NIC)
    assert {b.state for b in both.bindings} == {BindState.BOUND}


def test_interrupted_what_was_let_go_has_its_override_again(tmp_path: Path) -> None:
    kernel = DriverKernel(one_switch(tmp_path), NATIVE)
    left_over(kernel.tree, NIC)

    gate(scene(kernel, bind=BOTH), stop=lambda: True)

    assert override_of(kernel.tree, NIC) == "vfio-pci"


def test_a_native_driver_that_does_not_come_back_is_told(kernel: DriverKernel) -> None:
    kernel.broken |= {"vfio-pci", "mlx5_core"}

    bound = give(scene(kernel), NIC)

    (error,) = bound.errors
    assert isinstance(error, InconsistentHostError)
    assert f"{NIC}: mlx5_core had it, and no driver has it now" in str(error)
    assert override_of(kernel.tree, NIC) == ""


@pytest.mark.parametrize("order", TAKING)
def test_a_function_that_vanishes_at_any_step_is_not_called_bound(
    kernel: DriverKernel, order: str
) -> None:
    def gone() -> None:
        vanish(kernel.tree, NIC)
        (kernel.tree.directory(NIC) / "driver_override").unlink()

    kernel.before = at(order, gone)

    bound = give(scene(kernel), NIC)

    found = only(bound, NIC)
    assert found.state is BindState.BLOCKED
    assert "vanished" in found.why[0]
    assert bound.exit_code() is not ExitCode.OK


def test_what_a_vm_took_at_once_is_not_taken_from_it_to_undo_its_slot(
    kernel: DriverKernel,
) -> None:
    audio = Function(AUDIO, ConfigBuilder("10de:1aef", 0x040300), below=GPU_PORT, group=4)
    kernel.tree.add(audio)
    kernel.tree.put(f"sys/bus/pci/devices/{AUDIO}/driver_override", "(null)")

    def open_and_fail() -> None:
        kernel.tree.put(f"sys/bus/pci/devices/{GPU}/enable", "1")
        raise ConfigSpaceError("the kernel did not take it")

    kernel.before = at(f"probe {AUDIO}", open_and_fail)

    bound = give(scene(kernel), GPU)

    assert isinstance(bound.errors[0], InconsistentHostError)
    assert f"{GPU} is in use by VFIO already, and stays with vfio-pci" in str(bound.errors[0])
    assert f"unbind {GPU}" not in kernel.log
    assert (driver_of(kernel.tree, GPU), driver_of(kernel.tree, AUDIO)) == ("vfio-pci", None)


def test_what_the_host_took_meanwhile_is_not_taken_from_it(kernel: DriverKernel) -> None:
    asked = []

    def holds(function: PciFunction) -> list[Hold]:
        asked.append(function)
        new = Hold(HoldKind.ADDRESS, "has ib0 with address 192.0.2.7")
        return [new] if len(asked) > 1 else []

    bound = give(scene(kernel, holds=holds), NIC)

    assert str(bound.errors[0]) == f"{NIC} has ib0 with address 192.0.2.7, since a moment ago"
    assert f"unbind {NIC}" not in kernel.log
    assert (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC)) == ("mlx5_core", "")


def test_a_companion_that_appears_meanwhile_stops_its_slot(kernel: DriverKernel) -> None:
    where = scene(kernel)
    audio = Function(AUDIO, ConfigBuilder("10de:1aef", 0x040300), below=GPU_PORT, group=4)
    kernel.tree.add(audio)
    functions = [f for f in where.audited.fabric.functions.values() if str(f.address) == GPU]

    bound = bind(where, judge(where, functions, set(), takes=True), stop=never)

    assert isinstance(bound.errors[0], InUseError)
    assert f"{AUDIO} appeared beside it meanwhile" in str(bound.errors[0])
    assert kernel.log == []


def test_a_driver_that_came_meanwhile_keeps_the_function(kernel: DriverKernel) -> None:
    where = scene(kernel)
    functions = named(where.audited, [GPU])
    judged = judge(where, functions, {f.address for f in functions}, takes=True)
    kernel.bind(GPU, "nvidia")

    bound = bind(where, judged, stop=never)

    assert "nvidia has it by now, no more no driver" in str(bound.errors[0])
    assert kernel.log == []


def test_a_function_that_its_early_override_gives_to_vfio_with_the_first_is_bound(
    tree: TreeHost,
) -> None:
    kernel = DriverKernel(tree)
    tree.put(f"sys/bus/pci/devices/{NIC}/driver_override", "vfio-pci")
    kernel.before = at("modprobe vfio-pci", lambda: kernel.bind(NIC, "vfio-pci"))

    bound = gate(scene(kernel, bind=BOTH), stop=never)

    assert [only(bound, each).state for each in (GPU, NIC)] == [BindState.BOUND] * 2
    assert (bound.errors, bound.exit_code()) == ([], ExitCode.OK)
    assert f"unbind {NIC}" not in kernel.log


@pytest.mark.parametrize("done", range(len(TAKING)))
def test_after_a_kill_at_any_step_the_next_run_says_what_is_so_and_finishes(
    kernel: DriverKernel, done: int
) -> None:
    class Killed(BaseException):
        """Ends a run for good: no order is obeyed from then on, those of undoing included."""

    def before(order: str) -> None:
        if order == TAKING[done] or dead:
            dead.append(order)
            raise Killed

    dead: list[str] = []
    kernel.before = before
    with pytest.raises(Killed):
        give(scene(kernel), NIC)

    left = (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC))
    assert (
        left
        == [
            ("mlx5_core", ""),
            ("mlx5_core", ""),
            ("mlx5_core", "vfio-pci"),
            (None, "vfio-pci"),
        ][done]
    )
    kernel.before = lambda _: None
    again = scene(kernel)
    functions = named(again.audited, [NIC])
    ((half,),) = judge(again, functions, {f.address for f in functions}, takes=True)
    assert half.state is (BindState.READY if done < 2 else BindState.HALF_BOUND)
    assert only(give(again, NIC), NIC).state is BindState.BOUND
    assert driver_of(kernel.tree, NIC) == "vfio-pci"


def test_asked_to_stop_it_undoes_what_it_had_bound(kernel: DriverKernel) -> None:
    asked = iter([False, True])

    bound = give(scene(kernel), GPU, NIC, stop=lambda: next(asked))

    assert bound.interrupted
    assert bound.exit_code() is ExitCode.INTERRUPTED
    assert driver_of(kernel.tree, GPU) is None
    assert override_of(kernel.tree, GPU) == ""
    assert (only(bound, GPU).state, bound.changed) == (BindState.READY, False)


def test_the_gate_binds_what_no_driver_has_and_takes_nothing(kernel: DriverKernel) -> None:
    bound = gate(scene(kernel, bind=BOTH), stop=never)

    assert driver_of(kernel.tree, GPU) == "vfio-pci"
    assert driver_of(kernel.tree, NIC) == "mlx5_core"
    assert only(bound, NIC).state is BindState.BLOCKED
    assert bound.exit_code() is ExitCode.DIFFERS


def test_the_gate_leaves_what_nobody_names(kernel: DriverKernel) -> None:
    bound = gate(scene(kernel), stop=never)

    assert (bound.bindings, kernel.log) == ((), [])


def test_where_a_unit_is_to_come_first_only_other_drivers_are_kept_off(
    kernel: DriverKernel,
) -> None:
    policy = replace(BOTH, bind=(RoleName.GPU,), after="nvidia-fabricmanager.service")

    first = gate(scene(kernel, bind=policy), stop=never)
    second = gate(scene(kernel, bind=policy), stop=never)

    assert kernel.log == [f"driver_override {GPU} vfio-pci"]
    assert (driver_of(kernel.tree, GPU), override_of(kernel.tree, GPU)) == (None, "vfio-pci")
    found = only(first, GPU)
    assert (found.state, first.exit_code()) == (BindState.WAITING, ExitCode.OK)
    assert found.why == ("is bound when nvidia-fabricmanager.service is up",)
    assert (only(second, GPU).state, second.changed) == (BindState.WAITING, False)
    assert only(give(scene(kernel, bind=policy), GPU), GPU).state is BindState.BOUND


def with_vf(tree: TreeHost) -> TreeHost:
    """Give the NIC a VF, whose native driver has it."""
    tree.add(replace(nic(VF, below=NIC_PORT), physical_function=NIC, group=7, iommu="dmar0"))
    tree.put(f"sys/bus/pci/devices/{NIC}/sriov_drivers_autoprobe", "1")
    return tree


def test_a_vf_is_bound_and_its_pf_leaves_vfs_alone_from_then_on(tree: TreeHost) -> None:
    kernel = DriverKernel(with_vf(tree), NATIVE)
    kernel.bind(NIC, "mlx5_core")
    where = scene(kernel, bind=BOTH, profile=handing_over(Attach.VF))

    bound = gate(where, stop=never)

    assert [order for order in kernel.log if VF in order or NIC in order] == [
        f"sriov_drivers_autoprobe {NIC} 0",
        f"driver_override {VF} vfio-pci",
        f"probe {VF}",
    ]
    assert only(bound, VF).state is BindState.BOUND
    assert driver_of(tree, NIC) == "mlx5_core"
    assert NIC not in {str(b.function.address) for b in bound.bindings}


def test_a_vf_that_fails_leaves_its_pf_as_it_was(tree: TreeHost) -> None:
    kernel = DriverKernel(with_vf(tree), NATIVE)
    kernel.broken.add("vfio-pci")

    give(scene(kernel, profile=handing_over(Attach.VF)), VF)

    assert (tree.directory(NIC) / "sriov_drivers_autoprobe").read_text() == "1\n"


def test_taken_back_a_function_has_its_own_driver_again(kernel: DriverKernel) -> None:
    give(scene(kernel), NIC)
    kernel.log.clear()

    bound = take_back(scene(kernel), NIC)

    assert kernel.log == [f"driver_override {NIC}", f"unbind {NIC}", f"probe {NIC}"]
    assert (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC)) == ("mlx5_core", "")
    assert (only(bound, NIC).state, bound.exit_code()) == (BindState.FREE, ExitCode.OK)


def test_a_function_in_use_is_not_taken_back(kernel: DriverKernel) -> None:
    give(scene(kernel), NIC)
    kernel.log.clear()
    kernel.tree.put(f"sys/bus/pci/devices/{NIC}/enable", "1")

    bound = take_back(scene(kernel), NIC)

    assert (kernel.log, bound.exit_code()) == ([], ExitCode.DIFFERS)
    assert only(bound, NIC).why == ("is in use by VFIO: stop the VM that has it",)


def test_a_vm_that_starts_meanwhile_keeps_its_function(kernel: DriverKernel) -> None:
    give(scene(kernel), NIC)
    where = scene(kernel)
    functions = named(where.audited, [NIC])
    judged = judge_release(where, functions, {f.address for f in functions})
    kernel.log.clear()
    kernel.tree.put(f"sys/bus/pci/devices/{NIC}/enable", "1")

    bound = release(where, judged, stop=never)

    assert (kernel.log, driver_of(kernel.tree, NIC)) == ([], "vfio-pci")
    assert isinstance(bound.errors[0], InUseError)


def test_a_vfio_driver_that_takes_it_again_is_told_and_keeps_its_override(
    kernel: DriverKernel,
) -> None:
    give(scene(kernel), NIC)
    kernel.native = {NIC: "vfio-pci"}  # by ids= of the module

    bound = take_back(scene(kernel), NIC)

    assert "vfio-pci took it again" in str(bound.errors[0])
    assert "ids=" in bound.errors[0].hint
    assert (driver_of(kernel.tree, NIC), override_of(kernel.tree, NIC)) == ("vfio-pci", "vfio-pci")


def test_half_a_binding_is_taken_back_without_touching_the_native_driver(
    kernel: DriverKernel,
) -> None:
    kernel.tree.put(f"sys/bus/pci/devices/{NIC}/driver_override", "vfio-pci")

    bound = take_back(scene(kernel), NIC)

    assert kernel.log == [f"driver_override {NIC}"]
    assert (driver_of(kernel.tree, NIC), only(bound, NIC).state) == ("mlx5_core", BindState.FREE)


def test_a_vf_taken_back_may_be_probed_by_its_native_driver_again(tree: TreeHost) -> None:
    kernel = DriverKernel(with_vf(tree), NATIVE)
    profile = handing_over(Attach.VF)
    give(scene(kernel, profile=profile), VF)

    take_back(scene(kernel, profile=profile), VF)

    assert driver_of(tree, VF) == "mlx5_core"


def test_on_bare_metal_everything_may_be_taken_back(kernel: DriverKernel) -> None:
    give(scene(kernel), NIC)

    take_back(scene(kernel, mode=ModeName.BAREMETAL), NIC)

    assert driver_of(kernel.tree, NIC) == "mlx5_core"


def test_nothing_of_another_function_changes(kernel: DriverKernel) -> None:
    def others() -> dict[Path, bytes]:
        mine = kernel.tree.directory(NIC)
        files = (kernel.tree.root / "sys/devices").rglob("*")
        return {p: p.read_bytes() for p in files if p.is_file() and mine not in p.parents}

    before = others()

    give(scene(kernel), NIC)

    assert others() == before
