from dataclasses import replace
from pathlib import Path

from trees.config import ConfigBuilder
from trees.function import ACS_CAPABLE, Function, downstream_port, nic, nvswitch
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT, finding, judged, opened, surveyed
from tune.profiles import PROFILE, handing_over, with_mode

from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import Attach, GroupPolicy, Mode
from pcietune.model.switch_group import switch_groups
from pcietune.tune.audit.judge_groups import judge_groups
from pcietune.tune.match.roles import assign_roles

SEPARATE = with_mode(Mode({}, groups=GroupPolicy.SEPARATE))
TOGETHER = with_mode(Mode({}, groups=GroupPolicy.TOGETHER))
GPU_GROUP, NIC_GROUP = 4, 5  # in one_switch
TOP = "0000:20:01.0/00.0"


def separate(tree: TreeHost, address: str = NIC) -> Finding:
    return finding(judged(tree, SEPARATE), "group.separate", address)


def together(tree: TreeHost) -> Finding:
    return finding(judged(tree, TOGETHER), "group.together", TOP)


def test_alone_in_its_group_is_as_wanted(tmp_path: Path) -> None:
    found = separate(one_switch(tmp_path))

    assert (found.state, found.found.text, found.remedy) == (State.PASS, "group 5", None)


def test_a_bridge_in_the_group_does_no_harm(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    into_group(tree, NIC_PORT, NIC_GROUP)

    assert separate(tree).state is State.PASS


def test_a_host_bridge_in_the_group_does_no_harm(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(Function("0000:20:00.0", ConfigBuilder("8086:09a2", 0x060000), group=NIC_GROUP))

    assert separate(tree).state is State.PASS


def test_an_nvswitch_in_the_group_is_a_real_device(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(nvswitch("0000:20:05.0"), group=GPU_GROUP))

    found = separate(tree, GPU)

    assert found.state is State.FAIL
    assert found.reason == "shares group 4 with 0000:20:05.0 (10de:1af1)"
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


def test_a_gpu_in_the_nics_group_fails_for_both(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    into_group(tree, GPU, NIC_GROUP)

    assert separate(tree).reason.startswith("shares group 5 with 0000:23:00.0 (10de:20f3)")
    assert separate(tree, GPU).reason.startswith("shares group 5 with 0000:24:00.0 (15b3:101b)")


def test_a_group_from_before_the_ports_isolated_is_to_be_formed_anew_and_no_control_set(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    into_group(tree, GPU, NIC_GROUP)

    found = separate(tree)

    assert found.reason.endswith(
        "though the ports keep them apart now: the group was formed before"
    )
    assert found.remedy
    assert found.remedy.command.startswith("reboot, or remove the functions and rescan")


def test_where_a_port_does_not_isolate_its_controls_are_to_be_set_at_boot(tmp_path: Path) -> None:
    cleared = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0))
    tree = one_switch(tmp_path, instead=[cleared])
    into_group(tree, GPU, NIC_GROUP)

    found = separate(tree)

    assert found.reason == "shares group 5 with 0000:23:00.0 (10de:20f3)"
    assert found.remedy
    assert "set those at boot" in found.remedy.command


def test_another_function_of_the_same_slot_goes_along(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(nic("0000:24:00.1", below=NIC_PORT), group=NIC_GROUP, iommu="dmar0"))

    assert separate(tree).state is State.PASS


def test_a_member_that_vanished_is_not_passed_over(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put(f"sys/kernel/iommu_groups/{NIC_GROUP}/devices/0000:7f:00.0", "")

    found = separate(tree)

    assert (found.state, found.reason) == (
        State.FAIL,
        "shares group 5 with a vanished function",
    )


def test_without_a_group_vfio_cannot_take_it(tmp_path: Path) -> None:
    found = separate(one_switch(tmp_path, iommu=False))

    assert (found.state, found.reason) == (
        State.FAIL,
        "no IOMMU is on for it, and VFIO takes only what one translates",
    )


def test_on_bare_metal_no_groups_at_all_are_as_wanted(tmp_path: Path) -> None:
    found = together(one_switch(tmp_path, iommu=False))

    assert (found.state, found.found.text) == (State.PASS, "no IOMMU groups")


def test_nic_and_gpu_in_one_group_are_together(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    into_group(tree, GPU, NIC_GROUP)

    assert (together(tree).state, together(tree).found.text) == (State.PASS, "groups 5")


def test_groups_apart_show_that_the_kernel_found_redirection(tmp_path: Path) -> None:
    found = together(one_switch(tmp_path))

    assert (found.state, found.found.text) == (State.FAIL, "groups 4, 5")
    assert found.remedy
    assert "pci=disable_acs_redir" in found.remedy.command


def test_ignore_asks_nothing_of_groups(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), with_mode(Mode({})))

    assert [f.id for f in audited.findings if f.id.startswith("group.")] == []


def test_a_gpu_that_vanishes_before_its_group_is_read_is_an_error(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = opened(tree)
    fabric = surveyed(host)
    roles = assign_roles(PROFILE, fabric, host)
    (group,) = switch_groups(fabric, roles, PROFILE)
    later = opened(tree)
    later.functions()
    (tree.directory(GPU) / "uevent").unlink()

    (apart, _) = judge_groups(later, fabric, group, GroupPolicy.SEPARATE, Attach.PF)
    (joined,) = judge_groups(later, fabric, group, GroupPolicy.TOGETHER, Attach.PF)

    assert apart.state is joined.state is State.ERROR
    assert apart.subject.address == group.gpus[0].address


VF = "0000:24:00.1"
HANDING_OVER_VFS = replace(handing_over(Attach.VF), modes=SEPARATE.modes)


def with_vf(tree: TreeHost, group: int) -> TreeHost:
    """Add a VF of the NIC."""
    vf = nic(VF, below=NIC_PORT)
    tree.add(replace(vf, group=group, iommu="dmar0", physical_function=NIC))
    return tree


def test_where_vms_get_vfs_the_vf_is_judged_and_its_pf_is_not(tmp_path: Path) -> None:
    tree = with_vf(one_switch(tmp_path), 20)
    into_group(tree, NIC, GPU_GROUP)

    audited = judged(tree, HANDING_OVER_VFS)

    assert finding(audited, "group.separate", VF).state is State.PASS
    judged_ones = {str(f.subject.address) for f in audited.findings if f.id == "group.separate"}
    assert judged_ones == {GPU, VF}


def test_a_vf_in_its_pfs_group_is_not_alone(tmp_path: Path) -> None:
    tree = with_vf(one_switch(tmp_path), NIC_GROUP)

    found = finding(judged(tree, HANDING_OVER_VFS), "group.separate", VF)

    assert (found.state, found.reason) == (
        State.FAIL,
        "shares group 5 with 0000:24:00.0 (15b3:101b)",
    )


def test_where_there_are_no_vfs_yet_nothing_is_claimed_of_them(tmp_path: Path) -> None:
    found = finding(judged(one_switch(tmp_path), HANDING_OVER_VFS), "group.separate", NIC)

    assert (found.state, found.found.text) == (State.NOT_APPLICABLE, "no virtual function")
