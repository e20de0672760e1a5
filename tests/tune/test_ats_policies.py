"""What apply may do about ATS, by what a profile wants of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, nic
from trees.host import TreeHost
from tune.ats_hosts import NIC_GROUP, OFF, ON, host
from tune.judged import NIC, NIC_PORT, opened, surveyed
from tune.profiles import handing_over

from pcietune.model.ats_proof import AtsProof
from pcietune.model.finding import State
from pcietune.model.profile import AtsPolicy, Attach
from pcietune.model.severity import Severity
from pcietune.model.switch_group import switch_groups
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.judge_ats import AtsWanted, JudgedAts, judge_ats
from pcietune.tune.match.roles import assign_roles

VF = "0000:24:00.1"
VF_GROUP = 6
NIC_LOCATION = "0000:20:01.0/00.0/04.0/00.0"
ENSURE = AtsWanted(AtsPolicy.ENSURE)
FORCE = AtsWanted(AtsPolicy.FORCE)


def judged(tree: TreeHost, wanted: AtsWanted) -> list[JudgedAts]:
    opened_host = opened(tree)
    fabric = surveyed(opened_host)
    profile = handing_over(wanted.attach)
    (group,) = switch_groups(fabric, assign_roles(profile, fabric, opened_host), profile)
    return judge_ats(opened_host, fabric, group, wanted)


def of_nic(tree: TreeHost, wanted: AtsWanted) -> JudgedAts:
    (only,) = judged(tree, wanted)
    return only


def with_vf(tree: TreeHost, driver: str | None) -> TreeHost:
    virtual = nic(VF, below=NIC_PORT, driver=driver, ats=OFF)
    tree.add(replace(virtual, physical_function=NIC, group=VF_GROUP, iommu="dmar0"))
    return tree


def test_ensure_proves_what_is_pending_and_has_no_driver(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, domain="identity"), ENSURE)

    assert (only.finding.state, only.action) == (State.PENDING, AtsAction.PROVE)
    assert only.finding.remedy
    assert only.finding.remedy.command.startswith("pcietune apply")


def test_ensure_heals_what_was_lost_and_has_no_driver(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF), ENSURE)

    assert (only.finding.state, only.action) == (State.FAIL, AtsAction.HEAL)
    assert only.finding.remedy
    assert only.finding.remedy.command.startswith("pcietune apply")


@pytest.mark.parametrize("driver", ["vfio-pci", "mlx5_core"])
@pytest.mark.parametrize("domain", ["identity", "DMA-FQ"])
def test_ensure_does_nothing_to_what_has_a_driver(tmp_path: Path, driver: str, domain: str) -> None:
    assert of_nic(host(tmp_path, OFF, driver=driver, domain=domain), ENSURE).action is None


def test_a_lost_bit_below_a_driver_asks_to_unbind_it_first(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, driver="mlx5_core"), ENSURE)

    assert only.finding.reason.startswith("off though bound to mlx5_core under domain type DMA-FQ")
    assert only.finding.remedy
    assert only.finding.remedy.command.startswith("unbind 0000:24:00.0 from mlx5_core")


def test_what_a_driver_has_under_identity_waits_for_vfio_too(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, driver="mlx5_core", domain="identity"), ENSURE)

    assert only.finding.state is State.PENDING
    assert only.finding.reason.startswith("bound to mlx5_core under domain type identity")


def test_ensure_leaves_a_group_with_other_members_alone(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF, domain="identity")
    other = ConfigBuilder("15b3:c2d5", 0x080100).express(ENDPOINT)
    tree.add(Function("0000:24:00.1", other, below=NIC_PORT, group=NIC_GROUP))

    pending = of_nic(tree, ENSURE)

    assert (pending.finding.state, pending.action) == (State.PENDING, None)
    assert pending.finding.reason.endswith("apply leaves it, as its IOMMU group has other members")


@pytest.mark.parametrize("policy", [AtsPolicy.JUDGE, AtsPolicy.KERNEL_OFF])
@pytest.mark.parametrize("domain", ["identity", "DMA-FQ"])
def test_other_policies_only_judge(tmp_path: Path, policy: AtsPolicy, domain: str) -> None:
    assert of_nic(host(tmp_path, OFF, domain=domain), AtsWanted(policy)).action is None


@pytest.mark.parametrize("policy", [AtsPolicy.ENSURE, AtsPolicy.JUDGE, AtsPolicy.FORCE])
@pytest.mark.parametrize("driver", [None, "vfio-pci"])
def test_what_was_proved_passes_until_vfio_takes_it(
    tmp_path: Path, policy: AtsPolicy, driver: str | None
) -> None:
    proofs = frozenset({AtsProof(NIC_LOCATION, "15b3:101b")})
    tree = host(tmp_path, OFF, driver=driver, domain="identity")

    only = of_nic(tree, AtsWanted(policy, proofs=proofs))

    assert (only.finding.state, only.action) == (State.PASS, None)
    assert only.finding.reason.startswith("proved in this boot")


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param(AtsProof("0000:20:01.0/00.0/08.0/00.0", "15b3:101b"), id="elsewhere"),
        pytest.param(AtsProof(NIC_LOCATION, "15b3:1021"), id="another card"),
    ],
)
def test_a_proof_is_of_one_card_in_one_place(tmp_path: Path, proof: AtsProof) -> None:
    tree = host(tmp_path, OFF, domain="identity")

    only = of_nic(tree, AtsWanted(AtsPolicy.ENSURE, proofs=frozenset({proof})))

    assert only.finding.state is State.PENDING


@pytest.mark.parametrize(
    ("driver", "domain", "in_use"),
    [
        pytest.param("mlx5_core", "DMA-FQ", False, id="lost since"),
        pytest.param("vfio-pci", "identity", True, id="in use"),
    ],
)
def test_a_proof_does_not_excuse_what_is_off_now(
    tmp_path: Path, driver: str, domain: str, *, in_use: bool
) -> None:
    proofs = frozenset({AtsProof(NIC_LOCATION, "15b3:101b")})
    tree = host(tmp_path, OFF, driver=driver, domain=domain, in_use=in_use)

    only = of_nic(tree, AtsWanted(AtsPolicy.ENSURE, proofs=proofs))

    assert only.finding.state is State.FAIL


@pytest.mark.parametrize("driver", [None, "mlx5_core"])
def test_force_writes_what_fails_and_says_what_that_risks(
    tmp_path: Path, driver: str | None
) -> None:
    only = of_nic(host(tmp_path, OFF, driver=driver), FORCE)

    assert (only.finding.state, only.action) == (State.FAIL, AtsAction.FORCE)
    assert only.finding.remedy
    assert "--force-ats" in only.finding.remedy.command
    assert "faults" in only.finding.remedy.command
    assert "memory that was freed" in only.finding.remedy.command


def test_force_waits_for_what_the_kernel_will_do(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, domain="identity"), FORCE)

    assert (only.finding.state, only.action) == (State.PENDING, None)


def test_force_never_writes_below_vfio(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, driver="vfio-pci", in_use=True), FORCE)

    assert (only.finding.state, only.action) == (State.FAIL, None)
    assert only.finding.reason.endswith("; it is not forced, as it is bound to VFIO")


def test_what_vfio_has_idle_gets_its_lost_bit_back_from_the_kernel(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, OFF, driver="vfio-pci"), FORCE)

    assert (only.finding.state, only.action) == (State.PENDING, None)
    assert "the kernel will anew when VFIO attaches it" in only.finding.reason


def test_force_never_writes_a_vf(tmp_path: Path) -> None:
    tree = with_vf(host(tmp_path, ON), driver=None)

    only = of_nic(tree, replace(FORCE, attach=Attach.VF))

    assert (only.finding.state, only.action) == (State.FAIL, None)
    assert only.finding.reason.endswith("; it is not forced, as a VF's STU is its PF's")


def test_force_does_not_help_without_an_iommu_or_device_tlb(tmp_path: Path) -> None:
    without_tlb = host(tmp_path / "tlb", OFF)
    without_tlb.put("sys/class/iommu/dmar0/intel-iommu/ecap", "f050da")
    without_group = host(tmp_path / "none", OFF)
    (without_group.directory(NIC) / "iommu_group").unlink()

    actions = [of_nic(tree, FORCE).action for tree in (without_tlb, without_group)]

    assert actions == [None, None]


def test_force_leaves_alone_what_is_on(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, ON), FORCE)

    assert (only.finding.state, only.action) == (State.PASS, None)


def test_force_does_not_touch_what_somebody_wrote_already(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, ON, domain="identity"), FORCE)

    assert (only.finding.state, only.finding.severity) == (State.FAIL, Severity.WARNING)
    assert only.action is None


def test_ensure_proves_vfs_one_by_one(tmp_path: Path) -> None:
    tree = with_vf(host(tmp_path, ON), driver=None)
    tree.group_type(VF_GROUP, "identity")

    only = of_nic(tree, replace(ENSURE, attach=Attach.VF))

    assert (str(only.function.address), only.action) == (VF, AtsAction.PROVE)


@pytest.mark.parametrize("ats", [OFF, ON])
def test_a_pf_that_stays_with_the_host_is_no_vf_and_waits_for_one(
    tmp_path: Path, ats: tuple[int, int]
) -> None:
    only = of_nic(host(tmp_path, ats), replace(ENSURE, attach=Attach.VF))

    assert (only.finding.state, only.action) == (State.PENDING, None)
    assert only.finding.reason.startswith("there is no VF yet")


def test_a_pf_without_capability_fails_before_there_is_a_vf(tmp_path: Path) -> None:
    only = of_nic(host(tmp_path, None), replace(ENSURE, attach=Attach.VF))

    assert only.finding.state is State.FAIL


def test_a_vf_without_capability_is_a_setting_of_its_pfs_firmware(tmp_path: Path) -> None:
    tree = host(tmp_path, ON)
    virtual = nic(VF, below=NIC_PORT, ats=None)
    tree.add(replace(virtual, physical_function=NIC, group=VF_GROUP, iommu="dmar0"))

    only = of_nic(tree, replace(ENSURE, attach=Attach.VF))

    assert only.finding.remedy
    assert only.finding.remedy.command.startswith("pcietune firmware --set --device 0000:24:00.0")
