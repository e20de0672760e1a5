"""Expected: the rule by which Linux forms groups (drivers/iommu/iommu.c, REQ_ACS_FLAGS)."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import (
    DOWNSTREAM_PORT,
    ENDPOINT,
    PCI_TO_PCIE_BRIDGE,
    PCIE_TO_PCI_BRIDGE,
    ConfigBuilder,
)
from trees.fabrics import cascade
from trees.function import ACS_BY_LINUX, ACS_CAPABLE, Function, downstream_port, nic, root_port
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import GroupPolicy, Mode, Profile
from pcietune.model.severity import Severity

TOP = "0000:21:00.0"
SEPARATE = with_mode(Mode({}, groups=GroupPolicy.SEPARATE))
TOGETHER = with_mode(Mode({}, groups=GroupPolicy.TOGETHER))
IGNORE = with_mode(Mode({}))
CLEARED = (ACS_CAPABLE, 0x0011)  # SrcValid and UpstreamFwd are left


def _isolation(tree: TreeHost, profile: Profile = SEPARATE) -> list[Finding]:
    return [f for f in judged(tree, profile).findings if f.id == "group.isolation"]


def _only(tree: TreeHost, profile: Profile = SEPARATE) -> Finding:
    (found,) = _isolation(tree, profile)
    return found


def _nic_port(acs: tuple[int, int] | None) -> Function:
    return downstream_port(NIC_PORT, below=TOP, acs=acs)


def _with_neighbour(tree: TreeHost, acs: tuple[int, int] | None) -> None:
    """Add a disk below a port of its own."""
    tree.add(
        replace(downstream_port("0000:22:08.0", below=TOP, acs=acs), group=20),
        Function(
            "0000:25:00.0",
            ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT),
            below="0000:22:08.0",
            group=21,
        ),
    )


def _is_pass(found: Finding) -> bool:
    return found.state is State.PASS and str(found.subject.address) == TOP


def test_ports_that_isolate_bear_out_what_the_groups_claim(tmp_path: Path) -> None:
    assert _is_pass(_only(one_switch(tmp_path)))


@pytest.mark.parametrize(
    ("control", "missing"),
    [(0x0019, "ReqRedir-"), (0x0015, "CmpltRedir-"), (0x000D, "UpstreamFwd-")],
)
def test_a_port_that_lost_one_control_contradicts_the_groups(
    tmp_path: Path, control: int, missing: str
) -> None:
    found = _only(one_switch(tmp_path, instead=[_nic_port((ACS_CAPABLE, control))]))

    assert (found.state, found.severity) == (State.FAIL, Severity.ERROR)
    assert (str(found.subject.address), found.found.text) == (NIC_PORT, missing)
    assert found.reason == (
        f"{NIC} and {GPU} reach each other, though their IOMMU groups say that they cannot"
    )
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


def test_under_vfio_it_is_the_loudest_there_is(tmp_path: Path) -> None:
    found = _only(one_switch(tmp_path, driver="vfio-pci", instead=[_nic_port(CLEARED)]))

    assert found.severity is Severity.ERROR
    assert found.reason.startswith(f"ISOLATION LOST, and {GPU}, {NIC} given to VFIO relies on it: ")


@pytest.mark.parametrize("driver", [None, "vfio-pci"])
def test_source_validation_alone_gives_peers_no_way(tmp_path: Path, driver: str | None) -> None:
    port = _nic_port((ACS_CAPABLE, 0x001C))
    found = _only(one_switch(tmp_path, driver=driver, instead=[port]))

    assert (found.state, found.severity) == (State.FAIL, Severity.INFO)
    assert "only SrcValid is off" in found.reason


def test_what_a_port_does_not_implement_is_safe(tmp_path: Path) -> None:
    assert _is_pass(_only(one_switch(tmp_path, instead=[_nic_port((0x0004, 0x0004))])))


def test_switch_ports_without_acs_isolate_nothing_whatever_the_groups_say(tmp_path: Path) -> None:
    bare = [_nic_port(None), downstream_port(GPU_PORT, below=TOP, acs=None)]
    tree = one_switch(tmp_path, instead=bare)
    into_group(tree, GPU, 2)  # with its port, as Linux has it
    into_group(tree, NIC, 3)

    first, second = _isolation(tree)

    assert {str(f.subject.address) for f in (first, second)} == {GPU_PORT, NIC_PORT}
    assert {f.found.text for f in (first, second)} == {"no ACS capability"}
    assert "Linux" in first.reason
    assert first.remedy
    assert first.remedy.kind is RemedyKind.SOFTWARE
    assert first.severity is Severity.ERROR


def test_switch_ports_that_the_kernel_knows_to_isolate_without_acs_do(tmp_path: Path) -> None:
    zhaoxin = ConfigBuilder("1d17:0731", 0x060400).express(DOWNSTREAM_PORT)
    known = [replace(_nic_port(None), config=zhaoxin), downstream_port(GPU_PORT, below=TOP)]

    assert _is_pass(_only(one_switch(tmp_path, instead=known)))


def test_a_root_port_that_lost_its_controls_turns_around_what_comes_from_below(
    tmp_path: Path,
) -> None:
    found = _only(one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0))]))

    assert str(found.subject.address) == ROOT_PORT
    assert found.reason.startswith(f"{GPU}, {NIC} reach each other")


def test_the_kernel_is_believed_about_a_root_port_without_acs(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=None)])

    assert _is_pass(_only(tree))


def test_it_is_not_where_it_was_told_what_to_say(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=None)])
    tree.put("proc/cmdline", "ro pcie_acs_override=downstream,multifunction")

    assert str(_only(tree).subject.address) == ROOT_PORT


def test_a_root_port_without_acs_and_one_group_below_it_claim_nothing(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=None)])
    for address in (TOP, GPU_PORT, NIC_PORT, GPU, NIC):
        into_group(tree, address, 0)

    assert _is_pass(_only(tree))


def test_a_neighbour_that_is_neither_gpu_nor_nic_reaches_them_too(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _with_neighbour(tree, CLEARED)

    found = _only(tree)

    assert str(found.subject.address) == "0000:22:08.0"
    assert found.reason.startswith(f"0000:25:00.0 and {GPU}, {NIC} reach each other")


def test_a_port_with_nothing_below_opens_nothing(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(downstream_port("0000:22:08.0", below=TOP, acs=None), group=20))

    assert _is_pass(_only(tree))


def test_a_port_above_a_lone_function_of_its_switch_opens_nothing(tmp_path: Path) -> None:
    lone = downstream_port("0000:28:00.0", below="0000:27:00.0", acs=(ACS_CAPABLE, 0))

    assert _isolation(cascade(tmp_path, instead=[lone]))[0].state is State.PASS


def test_the_port_where_paths_part_in_a_cascade_opens_both_sides(tmp_path: Path) -> None:
    parting = downstream_port("0000:22:04.0", below=TOP, acs=CLEARED)

    found = _only(cascade(tmp_path, instead=[parting]))

    assert str(found.subject.address) == "0000:22:04.0"
    assert found.reason.startswith("0000:29:00.0 and 0000:25:00.0, 0000:26:00.0 reach each other")


def test_without_upstream_forwarding_a_port_turns_around_what_a_leaf_redirects(
    tmp_path: Path,
) -> None:
    leafs = downstream_port("0000:22:00.0", below=TOP, acs=(ACS_CAPABLE, 0x000D))

    found = _only(cascade(tmp_path, instead=[leafs]))

    assert found.found.text == "UpstreamFwd-"
    assert found.reason.startswith("0000:25:00.0, 0000:26:00.0, 0000:29:00.0 reach each other")


def _second_function(acs: tuple[int, int] | None) -> Function:
    second = nic("0000:24:00.1", below=NIC_PORT)
    if acs is not None:
        second.config.acs(*acs)
    return replace(second, group=20, iommu="dmar0")


def test_functions_of_one_slot_that_reach_each_other_are_told_by_their_own_registers(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    tree.add(_second_function((0x0004, 0x0000)))
    into_group(tree, NIC, 20)
    into_group(tree, "0000:24:00.1", 5)
    first_has_none = _only(tree)

    assert str(first_has_none.subject.address) == "0000:24:00.1"
    assert first_has_none.found.text == "ReqRedir-"


def test_the_kernel_is_believed_about_functions_of_one_slot_without_acs(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(_second_function(None))

    assert _is_pass(_only(tree))


def test_it_is_not_about_functions_where_it_was_told_what_to_say(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("proc/cmdline", "ro pcie_acs_override=downstream,multifunction")
    tree.add(_second_function(None))

    assert {str(f.subject.address) for f in _isolation(tree)} == {NIC, "0000:24:00.1"}


def test_a_virtual_function_is_no_function_of_its_pfs_slot(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("proc/cmdline", "ro pcie_acs_override=multifunction")
    tree.add(replace(_second_function((0x0004, 0x0000)), physical_function=NIC))

    assert _is_pass(_only(tree))


def test_an_upstream_port_of_a_device_with_several_functions_must_isolate(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    engine = ConfigBuilder("10b5:87d0", 0x088000).express(ENDPOINT)
    tree.add(Function("0000:21:00.1", engine, below=ROOT_PORT, group=20))

    assert str(_only(tree).subject.address) == TOP


def test_a_bridge_to_conventional_pci_isolates_nothing_below_it(tmp_path: Path) -> None:
    config = ConfigBuilder("104c:8240", 0x060400).express(PCIE_TO_PCI_BRIDGE)
    tree = one_switch(tmp_path)
    tree.add(
        replace(Function("0000:23:01.0", config, below=GPU_PORT, driver=None), group=20),
        replace(nic("0000:25:00.0", below="0000:23:01.0", ats=None), group=21),
        replace(nic("0000:25:01.0", below="0000:23:01.0", ats=None), group=22),
    )

    assert "0000:23:01.0" in {str(f.subject.address) for f in _isolation(tree)}


@pytest.mark.parametrize("kind", [PCIE_TO_PCI_BRIDGE, PCI_TO_PCIE_BRIDGE])
def test_a_bridge_to_or_from_conventional_pci_isolates_nothing_though_it_has_acs(
    tmp_path: Path, kind: int
) -> None:
    config = ConfigBuilder("104c:8240", 0x060400).power_management().express(kind)
    bridge = Function(ROOT_PORT, config.acs(ACS_CAPABLE, ACS_BY_LINUX), driver="pcieport")

    findings = _isolation(one_switch(tmp_path, instead=[bridge]))

    assert ROOT_PORT in {str(f.subject.address) for f in findings}
    assert not any(_is_pass(f) for f in findings)


def test_a_group_from_before_the_ports_isolated_is_told(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    into_group(tree, NIC, 4)

    findings = {str(f.subject.address): f for f in _isolation(tree)}

    assert set(findings) == {GPU, NIC}
    assert findings[NIC].severity is Severity.INFO
    assert findings[NIC].reason == (
        f"shares group 4 with {GPU} though the ports keep them apart now: the group was formed "
        "before"
    )


def test_one_group_and_no_redirection_agree(tmp_path: Path) -> None:
    open_ports = [_nic_port(CLEARED), downstream_port(GPU_PORT, below=TOP, acs=CLEARED)]
    tree = one_switch(tmp_path, instead=open_ports)
    into_group(tree, NIC, 4)

    assert _is_pass(_only(tree, TOGETHER))


def test_where_nobody_relies_on_isolation_a_false_claim_is_information(tmp_path: Path) -> None:
    found = _only(one_switch(tmp_path, instead=[_nic_port(CLEARED)]), TOGETHER)

    assert (found.state, found.severity) == (State.FAIL, Severity.INFO)


@pytest.mark.parametrize("profile", [TOGETHER, IGNORE], ids=["together", "ignore"])
def test_vfio_relies_on_it_whatever_the_mode_wants(tmp_path: Path, profile: Profile) -> None:
    found = _only(one_switch(tmp_path, driver="vfio-pci", instead=[_nic_port(CLEARED)]), profile)

    assert found.severity is Severity.ERROR


def test_ignore_asks_nothing_where_nobody_relies_on_it(tmp_path: Path) -> None:
    assert not _isolation(one_switch(tmp_path, instead=[_nic_port(CLEARED)]), IGNORE)


def test_without_groups_nothing_is_claimed(tmp_path: Path) -> None:
    assert not _isolation(one_switch(tmp_path, iommu=False, instead=[_nic_port(CLEARED)]))


def test_a_port_that_does_not_answer_bears_out_nothing(tmp_path: Path) -> None:
    silent = _nic_port(None)
    silent.config.all_ones()

    found = _only(one_switch(tmp_path, instead=[silent]))
    in_passing = _only(one_switch(tmp_path / "other", instead=[silent]), TOGETHER)

    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)
    assert (in_passing.state, in_passing.code) == (State.ERROR, ExitCode.OK)


def test_of_a_switch_whose_ports_cannot_be_read_that_is_said_once(tmp_path: Path) -> None:
    ports = [_nic_port(None), downstream_port(GPU_PORT, below=TOP)]
    for port in ports:
        port.config.cut(64)

    found = _only(one_switch(tmp_path, instead=ports))

    assert (str(found.subject.address), found.state) == (TOP, State.ERROR)
    assert found.code is ExitCode.NOT_PERMITTED
    assert found.reason.startswith(NIC_PORT)
    assert found.reason.endswith("; 1 more of its ports and functions likewise")
