"""What the shipped profiles say, against what is known of the hardware and the specification."""

import re
from pathlib import Path

import pytest

from pcietune.host.host_files import HostFiles
from pcietune.host.platform import DMI_FIELDS
from pcietune.host.profiles.file import lint_file
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.model.profile import (
    AtsPolicy,
    GroupPolicy,
    IommuPolicy,
    ModeName,
    Place,
    Profile,
    RolePlace,
    SwitchGroupLayout,
)
from pcietune.model.role_name import RoleName

NAMES = sorted(file.stem for file in shipped_profiles().glob("*.yaml"))
ISOLATION = {"SrcValid+", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl-", "TransBlk-"}


def _load(name: str, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    empty = HostFiles(tmp_path_factory.mktemp("host"), recorded=False)
    return Profiles(empty, shipped_profiles()).load(name).profile


@pytest.fixture(params=NAMES)
def profile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return _load(str(request.param), tmp_path_factory)


@pytest.fixture
def a800(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return _load("a800-sxm4-8gpu", tmp_path_factory)


@pytest.fixture
def generic(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return _load("gpu-rdma", tmp_path_factory)


def test_vm_writes_direct_trans_on_the_nic_side_and_nothing_else(profile: Profile) -> None:
    written = {
        place: [str(want) for want in rule.set]
        for place, rule in profile.modes[ModeName.VM].ports.items()
    }

    assert written == {Place.NIC_SIDE: ["DirectTrans+"], Place.GPU_SIDE: [], Place.UPSTREAM: []}


def test_vm_requires_isolation_at_every_place(profile: Profile) -> None:
    ports = profile.modes[ModeName.VM].ports

    assert [{str(want) for want in ports[place].require} for place in Place] == [ISOLATION] * 3


def test_vm_wants_ats_a_device_tlb_and_separate_groups(profile: Profile) -> None:
    mode = profile.modes[ModeName.VM]

    assert mode.ats is AtsPolicy.ENSURE
    assert mode.iommu is IommuPolicy.DEVICE_TLB
    assert mode.groups is GroupPolicy.SEPARATE


def test_baremetal_writes_nothing_and_requires_no_redirect_at_every_place(
    profile: Profile,
) -> None:
    ports = profile.modes[ModeName.BAREMETAL].ports

    assert [ports[place].set for place in Place] == [()] * 3
    assert [{str(want) for want in ports[place].require} for place in Place] == [
        {"ReqRedir-", "CmpltRedir-", "EgressCtrl-"}
    ] * 3


def test_baremetal_wants_no_translation(profile: Profile) -> None:
    mode = profile.modes[ModeName.BAREMETAL]

    assert mode.ats is AtsPolicy.KERNEL_OFF
    assert mode.iommu is IommuPolicy.OFF_OR_PASSTHROUGH
    assert mode.groups is GroupPolicy.TOGETHER


def test_gpus_and_nics_are_trusted_and_nothing_else_is(profile: Profile) -> None:
    trusted = {name for name, role in profile.roles.items() if role.trusted}

    assert trusted == {RoleName.GPU, RoleName.NIC}


def test_a_nic_is_one_only_below_a_switch_with_gpus(profile: Profile) -> None:
    assert profile.roles[RoleName.NIC].place is RolePlace.GPU_SWITCH


def test_the_a800_profile_is_matched_by_its_gpus_alone(a800: Profile) -> None:
    assert a800.match.pattern.ids == ("10de:20f3", "10de:20bd")
    assert a800.match.pattern.classes == ()
    assert not a800.match.switch_group
    assert not a800.match.dmi
    assert not a800.generic


def test_nvswitches_are_nvidias_bridges_of_class_0680_whatever_their_id(generic: Profile) -> None:
    pattern = generic.roles[RoleName.NVSWITCH].pattern

    assert (pattern.ids, pattern.classes) == (("10de:*",), (0x0680,))


def test_an_a800_host_has_8_gpus_6_nvswitches_and_4_groups_of_2_and_2(a800: Profile) -> None:
    assert a800.layout.cards == {RoleName.GPU: (8,), RoleName.NVSWITCH: (6,)}
    assert a800.layout.switch_groups == SwitchGroupLayout(
        count=(4,), cards={RoleName.GPU: (2,), RoleName.NIC: (2,)}
    )


def test_the_generic_profile_is_matched_by_place_alone(generic: Profile) -> None:
    assert generic.generic
    assert generic.match.switch_group
    assert (generic.match.pattern.ids, generic.match.pattern.classes) == ((), ())


def test_the_generic_profile_takes_any_nvidia_gpu_and_any_mellanox_nic(generic: Profile) -> None:
    gpu, nic = generic.roles[RoleName.GPU].pattern, generic.roles[RoleName.NIC].pattern

    assert (gpu.ids, gpu.classes) == (("10de:*",), (0x0302, 0x0300))
    assert (nic.ids, nic.classes) == (("15b3:*",), (0x0200, 0x0207))


def test_the_generic_profile_expects_no_counts(generic: Profile) -> None:
    assert generic.layout.cards == {}
    assert generic.layout.switch_groups is None


def test_the_examples_in_the_documentation_are_profiles_without_a_doubt(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    site = tmp_path / "etc/pcietune/profiles.d"
    site.mkdir(parents=True)
    profiles = Profiles(HostFiles(tmp_path, recorded=False), shipped_profiles())

    assert len(examples) == 3
    for example in examples:
        (site / "a800-sxm4-8gpu.yaml").write_text(example)
        assert lint_file(f"{site}/a800-sxm4-8gpu.yaml", profiles) == []


@pytest.mark.parametrize("name", DMI_FIELDS)
def test_the_documentation_has_every_dmi_name(name: str) -> None:
    document = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()

    assert re.search(rf"\b{name}\b", document)
