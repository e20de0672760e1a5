from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import DOWNSTREAM_PORT, ConfigBuilder
from trees.config import ROOT_PORT as ROOT
from trees.function import ACS_BY_LINUX, ACS_CAPABLE, Function, downstream_port, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU_PORT, NIC, NIC_PORT, ROOT_PORT, failing, finding, judge, judged, opened
from tune.profiles import ISOLATED, rule, with_ports

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity

ACS = 0x000D  # Extended Capability ID


def nic_port(capability: int, control: int) -> Function:
    return downstream_port(NIC_PORT, below="0000:21:00.0", acs=(capability, control))


def at_nic_port(tree: TreeHost, control: str, profile_rule: str | None = None) -> Finding:
    """Return the finding about one control of the NIC's port."""
    name = f"port.nic-side.{control.rstrip('+-')}"
    if profile_rule is None:
        return finding(judged(tree), name, NIC_PORT)
    return finding(judged(tree, with_ports(nic_side=rule(require=profile_rule))), name, NIC_PORT)


def test_as_linux_leaves_a_switch_only_direct_trans_fails(tmp_path: Path) -> None:
    assert failing(judged(one_switch(tmp_path))) == {("port.nic-side.DirectTrans", NIC_PORT)}


def test_a_finding_has_word_and_bits_as_found_and_as_wanted(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path), "DirectTrans+")

    assert found.found.text == "DirectTrans- in ACSCtl 0x001d"
    assert found.found.value == "0x001d"
    assert found.found.bits == (
        "SrcValid+",
        "TransBlk-",
        "ReqRedir+",
        "CmpltRedir+",
        "UpstreamFwd+",
        "EgressCtrl-",
        "DirectTrans-",
    )
    assert (found.wanted.text, found.wanted.value, found.wanted.bits) == (
        "DirectTrans+",
        "0x005d",
        ("DirectTrans+",),
    )
    assert found.remedy
    assert (found.remedy.kind, found.remedy.command) == (
        RemedyKind.REGISTER,
        "pcietune apply --mode vm",
    )


@pytest.mark.parametrize(
    ("control", "state"),
    [
        pytest.param("SrcValid+", State.PASS),
        pytest.param("ReqRedir+", State.PASS),
        pytest.param("CmpltRedir+", State.PASS),
        pytest.param("UpstreamFwd+", State.PASS),
        pytest.param("TransBlk+", State.PASS),
        pytest.param("EgressCtrl+", State.FAIL),
        pytest.param("DirectTrans+", State.FAIL),
    ],
)
def test_a_control_that_is_not_offered_is_safe_but_for_egress_control_and_direct_trans(
    tmp_path: Path, control: str, state: State
) -> None:
    tree = one_switch(tmp_path, instead=[nic_port(0x0000, 0x0000)])

    found = at_nic_port(tree, control, control)

    assert found.state is state
    assert ("hard-wired to the safe behaviour" in found.reason) is (state is State.PASS)


def test_a_switch_without_direct_trans_is_named_and_no_write_is_its_remedy(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path, instead=[nic_port(0x001F, 0x001D)]), "DirectTrans+")

    assert found.state is State.FAIL
    assert found.reason == (
        "this switch cannot: ACS Capability 0x001f of 0000:22:04.0 has no DirectTrans"
    )
    assert found.remedy
    assert found.remedy.kind is RemedyKind.HARDWARE


def test_a_port_without_acs_fails_what_should_be_on_and_passes_what_should_be_off(
    tmp_path: Path,
) -> None:
    bare = downstream_port(NIC_PORT, below="0000:21:00.0", acs=None)
    audited = judged(one_switch(tmp_path, instead=[bare]))

    states = {
        f.id.rpartition(".")[2]: f.state
        for f in (bit.finding for bit in audited.bits)
        if str(f.subject.address) == NIC_PORT
    }

    assert states == {
        "SrcValid": State.FAIL,
        "TransBlk": State.PASS,
        "ReqRedir": State.FAIL,
        "CmpltRedir": State.FAIL,
        "UpstreamFwd": State.FAIL,
        "EgressCtrl": State.PASS,
        "DirectTrans": State.FAIL,
    }
    missing = finding(audited, "port.nic-side.SrcValid", NIC_PORT)
    assert missing.severity is Severity.ERROR
    assert missing.found.text == "no ACS capability"
    assert missing.remedy
    assert missing.remedy.kind is RemedyKind.HARDWARE


def isolating_without_acs() -> Function:
    """Return a port of Zhaoxin (drivers/pci/quirks.c, pci_quirk_zhaoxin_pcie_ports_acs)."""
    config = ConfigBuilder("1d17:0731", 0x060400).express(DOWNSTREAM_PORT)
    return replace(downstream_port(NIC_PORT, below="0000:21:00.0"), config=config)


def test_a_port_known_to_isolate_without_acs_lacks_direct_trans_only(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path, instead=[isolating_without_acs()]))

    assert failing(audited) == {("port.nic-side.DirectTrans", NIC_PORT)}
    redirect = finding(audited, "port.nic-side.ReqRedir", NIC_PORT)
    assert redirect.found.text == "no ACS capability"
    assert redirect.reason == "the kernel knows this port to act as if it were on"


def test_such_a_port_redirects_whoever_wants_it_not_to(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[isolating_without_acs()])

    found = at_nic_port(tree, "ReqRedir-", "ReqRedir-")

    assert found.state is State.FAIL
    assert found.reason == "peer-to-peer requests are redirected to the root complex"
    assert found.remedy
    assert found.remedy.kind is RemedyKind.HARDWARE
    assert "Zhaoxin" in found.remedy.command


@pytest.mark.parametrize(
    ("port", "state"),
    [
        (downstream_port(NIC_PORT, below="0000:21:00.0", acs=None), State.PASS),
        (isolating_without_acs(), State.FAIL),
    ],
)
def test_such_a_port_keeps_acs_from_being_exonerated(
    tmp_path: Path, port: Function, state: State
) -> None:
    gpu_port = downstream_port(GPU_PORT, below="0000:21:00.0", acs=None)
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=None), gpu_port, port])

    audited = judged(tree, mode=ModeName.BAREMETAL)

    assert finding(audited, "acs.redirection", "host").state is state


def test_src_valid_alone_missing_is_information(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, 0x005C)]))

    found = finding(audited, "port.nic-side.SrcValid", NIC_PORT)

    assert (found.state, found.severity) == (State.FAIL, Severity.INFO)
    assert "only SrcValid is off" in found.reason
    assert audited.exit_code() == ExitCode.OK


@pytest.mark.parametrize("control", [0x0058, 0x0054, 0x004C, 0x0040])
def test_src_valid_missing_with_others_is_an_error(tmp_path: Path, control: int) -> None:
    tree = one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, control)])

    assert at_nic_port(tree, "SrcValid+").severity is Severity.ERROR


def test_src_valid_missing_with_others_is_an_error_though_the_profile_asks_for_it_alone(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, 0x0000)])

    assert at_nic_port(tree, "SrcValid+", "SrcValid+").severity is Severity.ERROR


def test_src_valid_that_is_on_and_unwanted_is_not_said_to_be_off(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, ACS_BY_LINUX)])

    found = at_nic_port(tree, "SrcValid-", "SrcValid-")

    assert (found.state, found.severity) == (State.FAIL, Severity.ERROR)
    assert found.reason == "the profile wants no source validation"


def test_egress_control_that_is_on_fails(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path, instead=[nic_port(0x087F, 0x003D)]), "EgressCtrl-")

    assert found.state is State.FAIL
    assert "a vector that pcietune does not know" in found.reason


def test_trans_blk_names_the_nics_whose_ats_it_makes_useless(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0x001F))])

    found = finding(judged(tree), "port.upstream.TransBlk", ROOT_PORT)

    assert found.state is State.FAIL
    assert found.reason == (
        "every translated request is blocked here: ATS of 0000:24:00.0 is useless"
    )
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS


def test_trans_blk_under_pci_noats_is_mended_on_the_kernel_command_line(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0x001F))])
    tree.put("proc/cmdline", "ro pci=noats")

    remedy = finding(judged(tree), "port.upstream.TransBlk", ROOT_PORT).remedy

    assert remedy
    assert (remedy.kind, remedy.command) == (
        RemedyKind.KERNEL_ARGS,
        "remove pci=noats, then reboot",
    )


def test_isolation_lost_under_a_function_of_vfio_is_said_loudly(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci", instead=[nic_port(ACS_CAPABLE, 0x0019)])

    found = at_nic_port(tree, "ReqRedir+")

    assert found.reason.startswith("ISOLATION LOST, and 0000:24:00.0 given to VFIO relies on it: ")


def test_isolation_lost_under_a_vf_of_vfio_is_said_loudly(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="mlx5_core", instead=[nic_port(ACS_CAPABLE, 0x0019)])
    virtual = nic("0000:24:00.1", below=NIC_PORT, driver="vfio-pci")
    tree.add(replace(virtual, physical_function=NIC))

    assert "0000:24:00.1 given to VFIO" in at_nic_port(tree, "ReqRedir+").reason


def test_direct_trans_or_trans_blk_missing_is_no_isolation_lost(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")

    assert "ISOLATION" not in at_nic_port(tree, "DirectTrans+").reason
    assert "ISOLATION" not in at_nic_port(tree, "TransBlk+", "TransBlk+").reason


def test_isolation_lost_without_vfio_is_mended_by_the_kernel_when_it_boots(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, 0x0019)]), "ReqRedir+")

    assert found.reason.startswith("functions below reach their neighbours")
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


def test_redirection_on_bare_metal_is_mended_by_one_word_for_all_ports(
    tmp_path: Path,
) -> None:
    audited = judged(one_switch(tmp_path), mode=ModeName.BAREMETAL)

    remedies = {f.remedy for f in audited.findings if f.id.endswith("Redir")}

    # The last such word wins (drivers/pci/pci.c, pci_setup).
    (remedy,) = {remedy.command for remedy in remedies if remedy}
    assert remedy == "pcietune kernel-args --mode baremetal --write LOADER, then reboot"


@pytest.mark.parametrize("want", ["DirectTrans+", "UpstreamFwd-", "SrcValid-"])
def test_what_the_kernel_does_not_do_by_itself_is_mended_by_the_same_command(
    tmp_path: Path, want: str
) -> None:
    remedy = at_nic_port(one_switch(tmp_path), want, want).remedy

    assert remedy
    assert remedy.command == "pcietune kernel-args --mode vm --write LOADER, then reboot"


def test_redirection_left_over_without_an_iommu_is_said_to_outlive_kexec(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path, iommu=False), mode=ModeName.BAREMETAL)

    found = finding(audited, "port.gpu-side.ReqRedir", GPU_PORT)

    assert found.state is State.FAIL
    assert found.reason == (
        "peer-to-peer requests are redirected to the root complex though no IOMMU is on: firmware "
        "set it, or a kernel with an IOMMU before a kexec, which ACS words outlive"
    )


def test_acs_registers_of_32_bits_are_judged_at_eight(tmp_path: Path) -> None:
    audited = judged(_sunrise_point(tmp_path))

    found = finding(audited, "port.upstream.ReqRedir", ROOT_PORT)

    assert (found.state, found.found.value) == (State.PASS, "0x000d")


def test_what_is_missing_in_acs_registers_of_32_bits_is_not_pcietunes_to_mend(
    tmp_path: Path,
) -> None:
    remedy = finding(
        judged(_sunrise_point(tmp_path)), "port.upstream.UpstreamFwd", ROOT_PORT
    ).remedy

    assert remedy
    assert remedy.kind is RemedyKind.HARDWARE
    assert "32 bits wide" in remedy.command


def _sunrise_point(root: Path) -> TreeHost:
    """Return a host below a Sunrise Point root port: capability 1fh, control 0dh in dwords."""
    config = ConfigBuilder("8086:a110", 0x060400).express(ROOT)
    config.extended(ACS, bytes.fromhex("1f000000 0d000000"))
    return one_switch(root, instead=[Function(ROOT_PORT, config, driver="pcieport")])


def test_a_port_that_does_not_answer_is_an_error_in_all_it_owes(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    audited = judged(tree)

    owed = [bit.finding for bit in audited.bits if str(bit.finding.subject.address) == NIC_PORT]
    assert {f.state for f in owed} == {State.ERROR}
    assert "does not answer" in finding(audited, "port.nic-side.ReqRedir", NIC_PORT).reason
    assert ExitCode.UNREADABLE in {f.code for f in owed}


def test_a_port_whose_acs_control_alone_reads_all_ones_is_an_error(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path, instead=[nic_port(ACS_CAPABLE, 0xFFFF)]), "SrcValid+")

    assert found.state is State.ERROR


def test_a_port_without_extended_space_is_an_error_and_never_without_acs(tmp_path: Path) -> None:
    config = ConfigBuilder("1000:c010", 0x060400).express(DOWNSTREAM_PORT).cut(256)
    short = Function(NIC_PORT, config, below="0000:21:00.0")

    found = at_nic_port(one_switch(tmp_path, instead=[short]), "DirectTrans+")

    assert (found.state, found.found.text) == (State.ERROR, "not known")


def test_judging_writes_nothing(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    before = tree.config(NIC_PORT).read_bytes()

    judge(opened(tree))

    assert tree.config(NIC_PORT).read_bytes() == before


def test_bits_above_six_are_shown_in_the_word_and_judged_by_nobody(tmp_path: Path) -> None:
    found = at_nic_port(one_switch(tmp_path, instead=[nic_port(0x00DF, 0x1FDD)]), "DirectTrans+")

    assert (found.state, found.found.value) == (State.PASS, "0x1fdd")


def test_what_the_mode_does_not_ask_of_a_place_is_not_judged(tmp_path: Path) -> None:
    profile = with_ports(gpu_side=rule(require=ISOLATED))

    assert {
        str(bit.finding.subject.address) for bit in judged(one_switch(tmp_path), profile).bits
    } == {GPU_PORT}
