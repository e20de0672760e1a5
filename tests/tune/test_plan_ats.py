from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import Function, nic
from trees.host import TreeHost
from tune.idle_nics import ENSURE, FORCE, NIC_GROUP, PAGE_ALIGNED, SWITCH_GROUP, ats_word, idle
from tune.judged import NIC, NIC_PORT, ROOT_PORT, at, judge, opened
from tune.live_kernel import LiveKernel, ats_control
from tune.registers import register_writes

from pcietune.model.access import HostAccess
from pcietune.model.finding import State
from pcietune.model.plan import Plan
from pcietune.model.profile import Profile
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.judge_ats import JudgedAts
from pcietune.tune.change.plan import plan

VF = "0000:24:00.1"


def planned(
    tree: TreeHost, profile: Profile = ENSURE, *, recorded: bool = False, force_ats: bool = False
) -> Plan:
    host: HostAccess = opened(tree) if recorded else LiveKernel(tree)
    return plan(host, judge(host, profile), while_in_use=False, force_ats=force_ats)


def ordered(tree: TreeHost, action: AtsAction, state: State = State.FAIL) -> Plan:
    """Return the plan of a host whose NIC was judged to need this action, whatever is true."""
    host = LiveKernel(tree)
    audited = judge(host, ENSURE)
    judged = next(each for each in audited.ats if str(each.function.address) == NIC)
    finding = replace(judged.finding, state=state)
    told = JudgedAts(judged.group, judged.function, finding, action)
    return plan(host, replace(audited, ats=(told,)), while_in_use=False, force_ats=True)


def shared(tree: TreeHost, other: Function) -> TreeHost:
    """Put another function into the NIC's IOMMU group."""
    tree.add(replace(other, group=NIC_GROUP, iommu="dmar0"))
    return tree


def test_an_idle_nic_under_identity_is_proved_by_a_moment_of_dma(tmp_path: Path) -> None:
    tree = idle(tmp_path)

    (switch,) = planned(tree).switches

    assert (switch.iommu_group, switch.old, switch.new) == (NIC_GROUP, "identity", "DMA")
    assert (switch.group, str(switch.function.address)) == (SWITCH_GROUP, NIC)
    assert switch.ats_control == ats_control(tree, NIC)
    assert switch.finding_ids == ("nic.ats",)
    assert switch.proves


@pytest.mark.parametrize("domain", ["DMA", "DMA-FQ"])
def test_an_enable_bit_that_was_lost_is_healed_by_a_moment_of_identity(
    tmp_path: Path, domain: str
) -> None:
    (switch,) = planned(idle(tmp_path, domain)).switches

    assert (switch.old, switch.new, switch.proves) == (domain, "identity", False)


def test_where_ats_is_on_or_a_waiver_covers_it_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert planned(idle(tmp_path / "on", "DMA", 0x8000)).switches == ()
    waived = ordered(idle(tmp_path / "waived"), AtsAction.PROVE, State.SKIP)
    assert (waived.switches, waived.held) == ((), ())


def test_a_recorded_host_has_no_kernel_to_do_it(tmp_path: Path) -> None:
    found = planned(idle(tmp_path), recorded=True)

    assert found.switches == ()
    (held,) = found.beyond
    assert held.reason == "a recorded host has no kernel to switch its IOMMU group's type"
    assert [str(write.function.address) for write in found.writes] == [NIC_PORT]


def test_a_group_with_functions_without_driver_and_ports_is_switched(tmp_path: Path) -> None:
    tree = shared(idle(tmp_path), nic("0000:24:00.1", below=NIC_PORT, ats=None))

    assert len(ordered(tree, AtsAction.PROVE).switches) == 1


def test_a_driver_anywhere_in_the_group_keeps_its_type(tmp_path: Path) -> None:
    tree = shared(idle(tmp_path), nic("0000:24:00.1", below=NIC_PORT, driver="mlx5_core"))

    found = ordered(tree, AtsAction.HEAL)

    assert found.switches == ()
    assert [held.reason for held in found.refused] == ["0000:24:00.1 is bound to mlx5_core"]


def test_a_group_in_use_by_vfio_must_wait(tmp_path: Path) -> None:
    user = nic("0000:24:00.1", below=NIC_PORT, driver="vfio-pci")
    tree = shared(idle(tmp_path), replace(user, attributes={"enable": "1"}))

    found = ordered(tree, AtsAction.PROVE)

    assert (found.switches, found.refused) == ((), ())
    assert "in use by VFIO: 0000:24:00.1" in [held.reason for held in found.deferred]


def test_a_type_that_the_kernel_takes_no_orders_for_is_not_left(tmp_path: Path) -> None:
    found = ordered(idle(tmp_path, "blocked"), AtsAction.PROVE)

    assert (found.switches, found.held) == ((), ())


def test_the_group_of_a_nic_is_not_switched_where_its_switch_group_cannot_be_read(
    tmp_path: Path,
) -> None:
    tree = idle(tmp_path)
    tree.config(ROOT_PORT).write_bytes(b"\xff" * 4096)

    found = ordered(tree, AtsAction.PROVE)

    assert (found.switches, [name for name, _ in found.unreadable]) == ((), [SWITCH_GROUP])


def test_force_needs_the_profile_and_the_flag(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA")

    without = planned(tree, FORCE)
    flag_alone = planned(tree, ENSURE, force_ats=True)

    assert [str(w.function.address) for w in without.writes] == [NIC_PORT]
    (refused,) = without.refused
    assert "--force-ats" in refused.reason
    assert "memory that is somebody else's" in refused.reason
    assert [w.register for w in register_writes(flag_alone)] == ["ACSCtl"]


def test_force_writes_enable_and_keeps_the_smallest_translation_unit(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA", 0x0005)

    write = register_writes(planned(tree, FORCE, force_ats=True))[1]

    assert (write.register, write.write.width) == ("ATSCtl", 2)
    assert write.write.offset == ats_control(tree, NIC)
    assert (write.write.mask, write.old, write.new) == (0x8000, 0x0005, 0x8005)
    assert ats_word(tree) == 0x0005  # nothing is written yet
    assert write.risk is not None


def test_force_refuses_what_vfio_has(tmp_path: Path) -> None:
    found = ordered(idle(tmp_path, driver="vfio-pci"), AtsAction.FORCE)

    assert [str(w.function.address) for w in found.writes] == [NIC_PORT]
    assert "bound to a VFIO driver" in found.refused[0].reason


def test_force_refuses_virtual_functions(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    virtual = nic(VF, below=NIC_PORT, ats=(PAGE_ALIGNED, 0))
    tree.add(replace(virtual, physical_function=NIC, group=6, iommu="dmar0"))
    host = LiveKernel(tree)
    audited = judge(host, ENSURE)
    (judged,) = audited.ats
    told = replace(judged, function=at(host, VF), action=AtsAction.FORCE)

    found = plan(host, replace(audited, ats=(told,)), while_in_use=False, force_ats=True)

    assert "virtual function is never written" in found.refused[0].reason


def test_force_refuses_where_no_iommu_would_answer(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    ecap = tree.root / "sys/devices/virtual/iommu/dmar0/intel-iommu/ecap"
    ecap.write_text("f050da\n")  # bit 2, device TLB, is 0

    assert "no IOMMU would answer" in ordered(tree, AtsAction.FORCE).refused[0].reason
