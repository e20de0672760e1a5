from pathlib import Path

from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT, finding, judged, opened, surveyed
from tune.profiles import PROFILE, with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import IommuPolicy, Mode
from pcietune.model.switch_group import switch_groups
from pcietune.tune.audit.judge_iommu import judge_iommu
from pcietune.tune.match.roles import assign_roles

DEVICE_TLB = with_mode(Mode({}, iommu=IommuPolicy.DEVICE_TLB))
PASSTHROUGH = with_mode(Mode({}, iommu=IommuPolicy.OFF_OR_PASSTHROUGH))


def passthrough(tree: TreeHost) -> Finding:
    return finding(judged(tree, PASSTHROUGH), "iommu.passthrough", "host")


def behind_smmu(tree: TreeHost) -> TreeHost:
    """Put GPU and NIC behind an ARM SMMUv3, which shows no registers."""
    tree.arm_iommu("smmu3.0")
    for address in (GPU, NIC):
        link = tree.directory(address) / "iommu"
        link.unlink()
        link.symlink_to((tree.root / "sys/class/iommu/smmu3.0").resolve())
    return tree


def test_an_iommu_with_device_tlb_is_as_wanted(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), DEVICE_TLB)

    assert {f.id: f.state for f in audited.findings if f.id.startswith("iommu.")} == {
        "iommu.enabled": State.PASS,
        "iommu.device-tlb": State.PASS,
    }
    assert finding(audited, "iommu.enabled", "host").found.text == "6 IOMMU groups"


def test_without_groups_no_iommu_is_on(tmp_path: Path) -> None:
    found = finding(judged(one_switch(tmp_path, iommu=False), DEVICE_TLB), "iommu.enabled", "host")

    assert found.state is State.FAIL
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


def test_a_unit_without_device_tlb_fails_by_its_name(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("sys/class/iommu/dmar0/intel-iommu/ecap", "f050da")

    found = finding(judged(tree, DEVICE_TLB), "iommu.device-tlb", "dmar0")

    assert (found.state, found.found.value) == (State.FAIL, "false")
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS


def test_a_unit_that_serves_no_nic_is_not_judged(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.intel_iommu("dmar1", device_tlb=False)

    findings = [f for f in judged(tree, DEVICE_TLB).findings if f.id.startswith("iommu.")]

    assert {f.subject.path for f in findings} == {"host", "dmar0"}


def test_a_unit_that_does_not_say_is_proved_by_a_nic_whose_ats_is_on(tmp_path: Path) -> None:
    found = finding(
        judged(behind_smmu(one_switch(tmp_path)), DEVICE_TLB), "iommu.device-tlb", "smmu3.0"
    )

    assert (found.state, found.found.text) == (State.PASS, "ATS is on at 0000:24:00.0")


def test_a_unit_that_does_not_say_and_is_not_proved_is_an_error_and_no_pass(
    tmp_path: Path,
) -> None:
    off = nic(NIC, below=NIC_PORT, ats=(0x0020, 0))
    tree = behind_smmu(one_switch(tmp_path, instead=[off]))

    found = finding(judged(tree, DEVICE_TLB), "iommu.device-tlb", "smmu3.0")

    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)


def test_a_bit_that_is_on_where_nothing_is_translated_proves_nothing(tmp_path: Path) -> None:
    tree = behind_smmu(one_switch(tmp_path))
    tree.group_type(5, "identity")

    found = finding(judged(tree, DEVICE_TLB), "iommu.device-tlb", "smmu3.0")

    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)


def test_a_nic_that_cannot_be_read_proves_nothing(tmp_path: Path) -> None:
    tree = behind_smmu(one_switch(tmp_path))
    tree.config(NIC).write_bytes(b"\xff" * 4096)

    found = finding(judged(tree, DEVICE_TLB), "iommu.device-tlb", "smmu3.0")

    assert found.state is State.ERROR


def test_bare_metal_wants_no_iommu_at_all(tmp_path: Path) -> None:
    found = passthrough(one_switch(tmp_path, iommu=False))

    assert (found.state, found.found.text) == (State.PASS, "no IOMMU")


def test_bare_metal_may_have_identity_domains(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    for number in range(6):
        tree.group_type(number, "identity")

    assert (passthrough(tree).state, passthrough(tree).found.text) == (
        State.PASS,
        "identity domains",
    )


def test_a_translating_domain_on_bare_metal_names_its_functions(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.group_type(4, "identity")  # the GPU's

    found = passthrough(tree)

    assert found.state is State.FAIL
    assert "addresses of 0000:24:00.0 are translated" in found.reason
    assert found.remedy
    assert found.remedy.command == "iommu=pt, then reboot"


def test_a_group_type_that_cannot_be_read_is_an_error_and_no_pass(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    for number in range(6):
        tree.group_type(number, "identity")
    (tree.root / "sys/kernel/iommu_groups/5/type").unlink()

    found = passthrough(tree)

    assert found.state is State.ERROR
    assert found.reason == "0000:24:00.0: the IOMMU group's type is not readable"


def test_ignore_asks_nothing_of_the_iommu(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), with_mode(Mode({})))

    assert [f.id for f in audited.findings if f.id.startswith("iommu.")] == []


def test_functions_that_vanish_before_their_group_is_read_are_named(tmp_path: Path) -> None:
    tree = behind_smmu(one_switch(tmp_path))
    host = opened(tree)
    fabric = surveyed(host)
    groups = switch_groups(fabric, assign_roles(PROFILE, fabric, host), PROFILE)
    later = opened(tree)
    later.functions()
    for address in (GPU, NIC):
        (tree.directory(address) / "uevent").unlink()

    peers = (*groups[0].gpus, *groups[0].nics)
    (bare,) = judge_iommu(later, peers, groups, IommuPolicy.OFF_OR_PASSTHROUGH)
    units = judge_iommu(later, peers, groups, IommuPolicy.DEVICE_TLB)

    assert bare.state is State.ERROR
    assert bare.reason.startswith("0000:23:00.0, 0000:24:00.0: ")
    assert [f.id for f in units] == ["iommu.enabled"]  # the NIC's own findings say the rest


def test_a_nic_in_a_group_of_which_no_unit_is_named_is_an_error_and_no_pass(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    (tree.directory(NIC) / "iommu").unlink()

    unknown = finding(judged(tree, DEVICE_TLB), "iommu.device-tlb", NIC)

    assert (unknown.state, unknown.code) == (State.ERROR, ExitCode.UNREADABLE)
    assert unknown.reason == f"{NIC}: the kernel does not say which IOMMU serves it"
