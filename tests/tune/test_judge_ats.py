from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.config import ROOT_PORT as ROOT
from trees.function import ACS_BY_LINUX, ACS_CAPABLE, Function, nic, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.ats_hosts import ENABLED, NIC_GROUP, OFF, PAGE_ALIGNED, amd, arm, host
from tune.faults import all_ones, vanish
from tune.judged import NIC, NIC_PORT, ROOT_PORT, finding, judge, judged, opened, surveyed
from tune.profiles import handing_over, with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import AtsPolicy, Attach, FunctionPattern, Mode, ModeName, Role
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.switch_group import switch_groups
from pcietune.tune.ats.judge_ats import AtsWanted, judge_ats
from pcietune.tune.match.roles import assign_roles

PROFILE = with_mode(Mode({}, AtsPolicy.JUDGE))
VF = "0000:24:00.1"
VF_GROUP = 6


def ats_of(tree: TreeHost, address: str = NIC) -> Finding:
    return finding(judged(tree, PROFILE), "nic.ats", address)


def test_on_is_as_wanted(tmp_path: Path) -> None:
    found = ats_of(host(tmp_path, (PAGE_ALIGNED, ENABLED)))

    assert (found.state, found.reason, found.remedy) == (State.PASS, "", None)
    assert (found.found.text, found.found.value) == ("Enable+ in ATSCtl 0x8000", "0x8000")
    assert found.wanted.bits == ("Enable+",)


def test_no_capability_is_a_setting_of_the_nics_firmware(tmp_path: Path) -> None:
    found = ats_of(host(tmp_path, None))

    assert (found.state, found.severity) == (State.FAIL, Severity.ERROR)
    assert found.found.text == "no ATS capability"
    assert found.remedy
    assert (found.remedy.kind, found.remedy.command) == (
        RemedyKind.FIRMWARE,
        "pcietune firmware --set --device 0000:24:00.0, then reboot the host",
    )


def test_no_capability_of_another_makers_nic_is_not_said_to_be_a_setting(tmp_path: Path) -> None:
    profile = replace(
        PROFILE, roles={**PROFILE.roles, RoleName.NIC: Role(FunctionPattern(("14e4:1750",)))}
    )
    config = ConfigBuilder("14e4:1750", 0x020000).express(ENDPOINT)
    tree = one_switch(tmp_path, instead=[Function(NIC, config, below=NIC_PORT)])

    found = finding(judged(tree, profile), "nic.ats", NIC)

    assert found.reason == "it has no ATS capability, so it cannot send translated requests"
    assert found.remedy
    assert found.remedy.command == (
        "switch ATS on in the device's firmware, if it can, then reboot the host"
    )


@pytest.mark.parametrize("device", ["22b1", "22b2", "22b8"])
def test_no_capability_below_a_grace_cpu_is_how_that_cpu_is(tmp_path: Path, device: str) -> None:
    config = ConfigBuilder(f"10de:{device}", 0x060400).express(ROOT)
    grace = Function(ROOT_PORT, config.acs(ACS_CAPABLE, ACS_BY_LINUX))
    tree = one_switch(tmp_path, instead=[grace, nic(NIC, below=NIC_PORT, ats=None)])

    assert ats_of(tree).state is State.NOT_APPLICABLE


def test_without_an_iommu_nobody_answers_translation_requests(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False, instead=[nic(NIC, below=NIC_PORT, ats=OFF)])

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason.startswith("no IOMMU answers translation requests")
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


def test_an_iommu_without_device_tlb_is_the_cause(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    tree.put("sys/class/iommu/dmar0/intel-iommu/ecap", "f050da")  # bit 2 is 0

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason == "IOMMU dmar0 has no device TLB: it answers no translation requests"
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS


def test_pci_noats_is_the_cause(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    tree.put("proc/cmdline", "ro pci=realloc,noats")

    found = ats_of(tree)

    assert (found.state, found.reason) == (
        State.FAIL,
        "pci=noats is on the kernel command line",
    )


def test_intel_demands_page_aligned_requests(tmp_path: Path) -> None:
    found = ats_of(host(tmp_path, (0x0000, 0)))

    assert found.state is State.FAIL
    assert "Page Aligned Request" in found.reason


def test_other_iommus_do_not_demand_page_aligned_requests(tmp_path: Path) -> None:
    assert ats_of(amd(host(tmp_path, (0x0000, ENABLED)))).state is State.PASS


def test_trans_blk_above_makes_ats_useless_though_it_is_on(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0x001F))])

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason == (
        "on, but of no use: 0000:20:01.0 above has TransBlk+: it blocks translated requests"
    )


def test_trans_blk_of_an_upstream_port_is_not_asked_for(tmp_path: Path) -> None:
    upstream = upstream_port("0000:21:00.0", below=ROOT_PORT)
    upstream.config.acs(ACS_CAPABLE, 0x0002)

    assert ats_of(one_switch(tmp_path, instead=[upstream])).state is State.PASS


def test_a_port_above_that_cannot_be_read_has_an_error_of_its_own(tmp_path: Path) -> None:
    tree = host(tmp_path, (PAGE_ALIGNED, ENABLED))
    all_ones(tree, ROOT_PORT)

    assert ats_of(tree).state is State.PASS


@pytest.mark.parametrize("domain", ["DMA-FQ", "identity", "blocked"])
def test_off_in_a_running_vm_fails_whatever_the_default_domain_is(
    tmp_path: Path, domain: str
) -> None:
    found = ats_of(host(tmp_path, OFF, driver="vfio-pci", domain=domain, in_use=True))

    assert found.state is State.FAIL
    assert found.reason.startswith("in use by VFIO and off")


@pytest.mark.parametrize("domain", ["identity", "blocked"])
def test_off_and_idle_on_intel_waits_for_vfio_under_what_does_not_translate(
    tmp_path: Path, domain: str
) -> None:
    found = ats_of(host(tmp_path, OFF, driver="vfio-pci", domain=domain))

    assert found.state is State.PENDING
    assert found.reason == (
        f"idle under domain type {domain}: the kernel turns ATS on when VFIO attaches it"
    )


def test_off_and_idle_on_arm_waits_for_vfio_under_identity(tmp_path: Path) -> None:
    assert ats_of(arm(host(tmp_path, OFF, domain="identity"))).state is State.PENDING


def test_off_and_idle_on_amd_fails_under_identity(tmp_path: Path) -> None:
    assert ats_of(amd(host(tmp_path, OFF, domain="identity"))).state is State.FAIL


def test_off_and_idle_on_amd_waits_for_vfio_under_blocked(tmp_path: Path) -> None:
    assert ats_of(amd(host(tmp_path, OFF, domain="blocked"))).state is State.PENDING


@pytest.mark.parametrize("domain", ["DMA", "DMA-FQ"])
def test_off_under_a_translating_domain_is_firmwares_table_or_a_lost_bit(
    tmp_path: Path, domain: str
) -> None:
    found = ats_of(host(tmp_path, OFF, domain=domain))

    assert found.state is State.FAIL
    assert "ATSR" in found.reason
    assert "cleared 0000:24:00.0's Enable bit" in found.reason


def test_a_group_whose_type_cannot_be_read_is_an_error_and_no_pass(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    (tree.root / f"sys/kernel/iommu_groups/{NIC_GROUP}/type").unlink()

    found = ats_of(tree)

    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)


def test_a_nic_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    all_ones(tree, NIC)

    found = ats_of(tree)

    assert (found.state, found.wanted.text) == (State.ERROR, "Enable+")


def with_vf(tree: TreeHost, ats: tuple[int, int]) -> TreeHost:
    """Add a VF of the NIC, idle and bound to vfio-pci, in a group of its own."""
    virtual = nic(VF, below=NIC_PORT, driver="vfio-pci", ats=ats)
    tree.add(replace(virtual, physical_function=NIC, group=VF_GROUP, iommu="dmar0"))
    tree.group_type(VF_GROUP, "identity")
    return tree


def judged_vfs(tree: TreeHost) -> dict[str, Finding]:
    profile = replace(handing_over(Attach.VF), modes=PROFILE.modes)
    audited = judged(tree, profile)
    return {str(f.subject.address): f for f in audited.findings if f.id == "nic.ats"}


def test_where_vfs_are_handed_over_they_are_judged_and_not_their_pf(tmp_path: Path) -> None:
    tree = with_vf(host(tmp_path, OFF), (PAGE_ALIGNED, ENABLED))
    tree.group_type(VF_GROUP, "DMA-FQ")

    assert {address: f.state for address, f in judged_vfs(tree).items()} == {VF: State.PASS}


def test_where_vfs_are_to_be_handed_over_and_none_exists_the_pf_is_judged(tmp_path: Path) -> None:
    assert list(judged_vfs(host(tmp_path, OFF))) == [NIC]


def test_where_the_pf_is_handed_over_its_vfs_are_not_judged(tmp_path: Path) -> None:
    tree = with_vf(host(tmp_path, (PAGE_ALIGNED, ENABLED)), OFF)

    assert ats_of(tree).state is State.PASS
    assert VF not in {str(f.subject.address) for f in judged(tree, PROFILE).findings}


@pytest.mark.parametrize(
    ("kernel", "domain", "pf_ats", "state"),
    [
        pytest.param("6.8.0-45-generic", "identity", OFF, State.FAIL, id="before 6.12"),
        pytest.param("6.12.0", "identity", OFF, State.PENDING, id="6.12 sets the STU at probe"),
        pytest.param("6.8.0", "DMA", OFF, State.PENDING, id="PF in a translating domain"),
        pytest.param(
            "6.8.0", "identity", (PAGE_ALIGNED, ENABLED), State.PENDING, id="PF has its STU"
        ),
        pytest.param("6.8.0", "identity", None, State.PENDING, id="PF without ATS"),
        pytest.param("next", "identity", OFF, State.PENDING, id="a kernel without a number"),
    ],
)
def test_a_vf_gets_no_ats_from_old_kernels_that_never_set_its_pfs_stu(
    tmp_path: Path, kernel: str, domain: str, pf_ats: tuple[int, int] | None, state: State
) -> None:
    tree = with_vf(host(tmp_path, pf_ats, domain=domain), OFF)
    tree.put("proc/sys/kernel/osrelease", kernel)

    found = judged_vfs(tree)[VF]

    assert found.state is state
    assert ("never set its STU" in found.reason) is (state is State.FAIL)


def test_a_pf_needs_no_stu_before_its_own_ats_is_on(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF, domain="identity")
    tree.put("proc/sys/kernel/osrelease", "6.8.0")

    assert ats_of(tree).state is State.PENDING


def test_a_vf_whose_pf_is_gone_is_judged_by_itself(tmp_path: Path) -> None:
    tree = with_vf(host(tmp_path, (PAGE_ALIGNED, ENABLED)), OFF)
    opened_host = opened(tree)
    opened_host.functions()
    link = tree.directory(VF) / "physfn"
    link.unlink()
    link.symlink_to("../0000:24:00.7")

    audited = judge(opened_host, replace(handing_over(Attach.VF), modes=PROFILE.modes))

    assert finding(audited, "nic.ats", VF).state is State.PENDING


def test_a_nic_in_d3cold_is_not_woken_and_is_an_error(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    (tree.directory(NIC) / "power_state").write_text("D3cold\n")

    found = ats_of(tree)

    assert found.state is State.ERROR
    assert "D3cold" in found.reason


def test_a_nic_that_vanished_is_an_error_where_vfs_are_handed_over(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    before = opened(tree)
    fabric = surveyed(before)
    (group,) = switch_groups(fabric, assign_roles(PROFILE, fabric, before), PROFILE)
    later = opened(tree)
    later.functions()
    vanish(tree, NIC)

    wanted = AtsWanted(AtsPolicy.JUDGE, Attach.VF)
    (only,) = judge_ats(later, fabric, group, wanted)

    found = only.finding
    assert (str(found.subject.address), found.state) == (NIC, State.ERROR)


@pytest.mark.parametrize(
    ("ats", "state"),
    [
        pytest.param(None, State.PASS, id="no capability"),
        pytest.param(OFF, State.PASS, id="off"),
        pytest.param((PAGE_ALIGNED, ENABLED), State.FAIL, id="on"),
    ],
)
def test_kernel_off_wants_it_off(tmp_path: Path, ats: tuple[int, int] | None, state: State) -> None:
    audited = judged(host(tmp_path, ats), with_mode(Mode({}, AtsPolicy.KERNEL_OFF)))

    found = finding(audited, "nic.ats", NIC)

    assert (found.state, found.wanted.bits) == (state, ("Enable-",))
    if state is State.FAIL:
        assert found.severity is Severity.WARNING


def test_ignore_asks_nothing(tmp_path: Path) -> None:
    audited = judged(host(tmp_path, None), with_mode(Mode({})), ModeName.VM)

    assert [f.id for f in audited.findings if f.id.startswith("nic.")] == []
