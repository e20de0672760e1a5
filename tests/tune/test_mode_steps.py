"""The way from one duty to the other: expected steps are those of the kernel's rules."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.function import downstream_port, gpu, nic, nvswitch
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import set_word
from tune.judged import GPU, NIC, NIC_PORT, opened, surveyed
from tune.profiles import NIC_ROLE, PROFILE

from pcietune.errors import BadInputError
from pcietune.model.mode_change import ModeChange, Step, StepKind
from pcietune.model.profile import Attach, FunctionPattern, ModeName, Profile, Role
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Settings
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.mode.settings import named_groups, towards
from pcietune.tune.mode.steps import mode_steps

SECOND = "0000:40:01.0/00.0"  # the topmost upstream port of the second switch
ATS_CONTROL = 0x112  # of a NIC in the trees
DECIDED = Settings(mode=ModeName.VM)


def way(
    tree: TreeHost,
    mode: ModeName,
    *names: str,
    profile: Profile = PROFILE,
    settings: Settings = DECIDED,
) -> ModeChange:
    host = opened(tree)
    then = towards(settings, mode, names)
    yardstick = Yardstick(profile, then.mode or mode, then.group_modes)
    audited = audit(host, surveyed(host, profile), yardstick)
    return mode_steps(host, audited, settings, mode, names)


def step(change: ModeChange, kind: StepKind) -> Step:
    (found,) = (each for each in change.steps if each.kind is kind)
    return found


def kinds(change: ModeChange) -> list[StepKind]:
    return [each.kind for each in change.steps if not each.done]


def at_work(tree: TreeHost, address: str) -> None:
    """Let VFIO have a function open."""
    (tree.directory(address) / "enable").write_text("1\n")


def test_functions_leave_vfio_before_the_kernel_command_line_and_its_reboot(
    tmp_path: Path,
) -> None:
    change = way(one_switch(tmp_path, driver="vfio-pci"), ModeName.BAREMETAL)

    assert kinds(change)[:4] == [
        StepKind.SETTINGS,
        StepKind.RELEASE,
        StepKind.FIRMWARE,
        StepKind.KERNEL_ARGS,
    ]
    assert StepKind.REBOOT in kinds(change)


def test_a_vm_is_stopped_before_its_function_is_taken_from_vfio(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    at_work(tree, NIC)

    commands = step(way(tree, ModeName.BAREMETAL), StepKind.RELEASE).commands

    assert commands == (
        f"stop the VM that uses {NIC}",
        f"pcietune vfio unbind {GPU} {NIC}",
    )


def test_to_bare_metal_redirection_is_cleared_by_the_kernel_command_line_alone(
    tmp_path: Path,
) -> None:
    change = way(one_switch(tmp_path), ModeName.BAREMETAL)

    commands = step(change, StepKind.KERNEL_ARGS).commands
    word = "pcietune kernel-args --mode baremetal --write LOADER, then reboot"
    assert commands.count(word) == 1
    assert StepKind.REGISTERS not in kinds(change)


def test_registers_are_written_after_the_reboot_that_would_reset_them(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)

    order = [each.kind for each in way(tree, ModeName.VM).steps]

    assert order.index(StepKind.REBOOT) < order.index(StepKind.REGISTERS)
    assert order.index(StepKind.REGISTERS) < order.index(StepKind.BIND)


def test_what_is_open_after_a_step_is_what_later_steps_end(tmp_path: Path) -> None:
    change = way(one_switch(tmp_path), ModeName.VM)
    number = change.steps.index(step(change, StepKind.REGISTERS))

    before = {finding.id for finding in change.open_after(number)}
    after = {finding.id for finding in change.open_after(number + 1)}

    assert "port.nic-side.DirectTrans" in before - after


def test_what_the_kernel_command_line_mends_is_open_until_the_reboot(tmp_path: Path) -> None:
    change = way(one_switch(tmp_path), ModeName.BAREMETAL)
    mended = set(step(change, StepKind.KERNEL_ARGS).settles)
    reboot = change.steps.index(step(change, StepKind.REBOOT))

    assert mended
    assert mended <= set(change.open_after(reboot))
    assert mended.isdisjoint(change.open_after(reboot + 1))


def test_nothing_is_left_to_do_where_the_host_is_there(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    set_word(tree, NIC_PORT, 0x005D)  # DirectTrans+

    change = way(tree, ModeName.VM)

    assert change.done
    assert change.open_after(0) == ()


def test_where_something_could_not_be_read_no_later_step_is_called_done(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0")
    tree = one_switch(tmp_path, instead=[replace(port, config=port.config.cut(64))])

    change = way(tree, ModeName.VM)

    assert step(change, StepKind.READ).commands[-1].startswith("pcietune mode again")
    assert [each.kind for each in change.steps if each.done] == [StepKind.SETTINGS]


def test_a_mode_that_nobody_decided_is_the_first_step(tmp_path: Path) -> None:
    change = way(one_switch(tmp_path), ModeName.VM, settings=Settings())

    assert step(change, StepKind.SETTINGS).commands == ("write there: mode: vm",)


def test_a_pending_nic_is_left_to_the_start_of_its_vm(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    set_word(tree, NIC_PORT, 0x005D)  # DirectTrans+
    set_word(tree, NIC, 0x0000, ATS_CONTROL)
    tree.group_type(5, "identity")

    change = way(tree, ModeName.VM)

    assert kinds(change) == [StepKind.USE]
    assert [finding.id for finding in step(change, StepKind.USE).settles] == ["nic.ats"]


def test_one_switch_group_may_go_another_way_than_the_host(tmp_path: Path) -> None:
    change = way(two_switches(tmp_path), ModeName.BAREMETAL, SECOND)

    paths = {f.subject.path for each in change.steps for f in each.settles}
    assert {path for path in paths if path.startswith("0000:20:01.0")} == set()
    assert step(change, StepKind.SETTINGS).commands == (
        f'write there: mode: {{default: vm, "{SECOND}": baremetal}}',
    )


def test_a_switch_group_that_is_not_here_is_refused_with_the_names_of_those_that_are(
    tmp_path: Path,
) -> None:
    host = opened(two_switches(tmp_path))
    audited = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.VM))

    assert named_groups(audited.groups, ["0000:41:00.0", SECOND]) == (SECOND, SECOND)
    with pytest.raises(BadInputError, match=r"no switch group 0000:99:00.0") as refusal:
        named_groups(audited.groups, ["0000:99:00.0"])
    assert SECOND in refusal.value.hint


def test_nics_whose_vfs_go_to_vms_get_some_first(tmp_path: Path) -> None:
    roles = {**PROFILE.roles, RoleName.NIC: replace(NIC_ROLE, attach=Attach.VF)}
    profile = replace(PROFILE, roles=roles)

    change = way(one_switch(tmp_path), ModeName.VM, profile=profile)

    assert step(change, StepKind.VIRTUAL_FUNCTIONS).commands == (
        f"echo 0 > /sys/bus/pci/devices/{NIC}/sriov_drivers_autoprobe",
        f"echo NUMBER > /sys/bus/pci/devices/{NIC}/sriov_numvfs",
    )


def test_functions_are_bound_by_the_command_that_looks_first_what_holds_them(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, driver="mlx5_core")])

    commands = step(way(tree, ModeName.VM), StepKind.BIND).commands

    assert commands == (f"pcietune vfio bind {GPU} {NIC}",)


def test_what_the_kernel_sets_by_itself_is_told_with_the_ports_that_lack_it(tmp_path: Path) -> None:
    lost = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x005F, 0x0000))

    commands = step(
        way(one_switch(tmp_path, instead=[lost]), ModeName.VM), StepKind.KERNEL_ARGS
    ).commands

    (own,) = (c for c in commands if c.startswith("boot with the IOMMU on"))
    assert "pci=config_acs, for 0000:20:01.0/00.0/04.0: the kernel sets it" in own


def test_the_driver_of_gpus_tied_by_nvswitches_is_not_unbound_on_a_running_host(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path, instead=[gpu(GPU, below="0000:22:00.0", driver="nvidia")])
    tree.add(nvswitch("0000:50:00.0"))
    roles = {**PROFILE.roles, RoleName.NVSWITCH: Role(FunctionPattern(("10de:1af1",)))}

    change = way(tree, ModeName.VM, profile=replace(PROFILE, roles=roles))

    late = step(change, StepKind.BIND_AT_BOOT)
    assert late.commands == (
        "write to /etc/pcietune/pcietune.yaml: enforce: apply, and gpu in vfio: {bind: [gpu]}",
    )
    assert not step(change, StepKind.REBOOT).done
    assert step(change, StepKind.BIND).commands == (f"pcietune vfio bind {NIC}",)
