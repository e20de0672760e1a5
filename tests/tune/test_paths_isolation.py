"""Expected: PCIe r7.0, 6.12.3, and the rule by which Linux forms groups (REQ_ACS_FLAGS)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees.config import ENDPOINT, PCIE_TO_PCI_BRIDGE, ConfigBuilder
from trees.fabrics import cascade
from trees.function import (
    ACS_BY_LINUX,
    ACS_CAPABLE,
    Function,
    downstream_port,
    nic,
    root_port,
)
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, opened

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.isolation import Opening, reach_each_other, read_openings
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.isolation import Isolation, Known, view_isolation
from pcietune.tune.paths.ownership import Claim
from pcietune.tune.paths.reach import Reach

TOP = "0000:21:00.0"
DISK = "0000:25:00.0"
DISK_PORT = "0000:22:08.0"
DIRECT = (ACS_CAPABLE, 0x005D)

Told = tuple[str, str, set[str], set[str], Claim]


def _addresses(*texts: str) -> frozenset[PciAddress]:
    return frozenset(map(PciAddress.parse, texts))


def _isolation(
    tree: TreeHost, *, trusted: Iterable[str] = (), users: Mapping[str, str] | None = None
) -> Isolation:
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    return view_isolation(
        host,
        fabric,
        _addresses(GPU, NIC),
        Known(
            _addresses(*trusted),
            {PciAddress.parse(address): vm for address, vm in (users or {}).items()},
        ),
    )


def _told(reaches: Iterable[Reach]) -> list[Told]:
    return [
        (
            ", ".join(str(port.address) for port in each.ports),
            each.why,
            {str(one.address) for one in each.senders},
            {str(other.address) for other in each.targets},
            each.claim,
        )
        for each in reaches
    ]


def _port(address: str, acs: tuple[int, int] | None) -> Function:
    return downstream_port(address, below=TOP, acs=acs)


def _with_disk(tree: TreeHost, acs: tuple[int, int] | None = (ACS_CAPABLE, ACS_BY_LINUX)) -> None:
    tree.add(
        replace(_port(DISK_PORT, acs), group=20),
        Function(
            DISK,
            ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT),
            below=DISK_PORT,
            group=21,
        ),
    )


def test_ports_as_linux_sets_them_keep_all_apart(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _with_disk(tree)
    found = _isolation(tree)

    assert set(map(str, found.owners)) == {GPU, NIC, DISK}
    assert (found.reaches, found.lies, found.not_known) == ((), (), ())


def test_a_port_without_request_redirect_lets_its_function_reach_all_others(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, (ACS_CAPABLE, 0x0019))])
    _with_disk(tree)

    assert _told(_isolation(tree).reaches) == [
        (NIC_PORT, "ReqRedir-", {NIC}, {GPU, DISK}, Claim.GROUPS)
    ]


def test_ports_without_acs_isolate_nothing_though_linux_gives_them_groups(tmp_path: Path) -> None:
    bare = [_port(NIC_PORT, None), _port(GPU_PORT, None)]
    tree = one_switch(tmp_path, instead=bare)
    into_group(tree, GPU, 2)  # with its port, as kernels before 6.17 have it
    into_group(tree, NIC, 3)

    assert _told(_isolation(tree).reaches) == [
        (f"{GPU_PORT}, {NIC_PORT}", "no ACS capability", {GPU, NIC}, {GPU, NIC}, Claim.GROUPS)
    ]


def test_what_shares_a_group_goes_to_one_vm_and_is_not_told(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, None), _port(GPU_PORT, None)])
    into_group(tree, GPU, 2)
    into_group(tree, NIC, 2)

    assert _isolation(tree).reaches == ()


@pytest.mark.parametrize(
    ("vms", "claim"), [(("qemu (pid 7)", "qemu (pid 7)"), None), (("7", "8"), Claim.VMS)]
)
def test_what_vfio_has_open_tells_which_vm_it_is(
    tmp_path: Path, vms: tuple[str, str], claim: Claim | None
) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, (ACS_CAPABLE, 0))])
    found = _isolation(tree, users=dict(zip((NIC, GPU), vms, strict=True)))

    assert [each.claim for each in found.reaches] == ([] if claim is None else [claim])


def test_a_root_port_without_upstream_forwarding_turns_all_around(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0x000D))])

    assert _told(_isolation(tree).reaches) == [
        (ROOT_PORT, "UpstreamFwd-", {GPU, NIC}, {GPU, NIC}, Claim.GROUPS)
    ]


@pytest.mark.parametrize("control", [0x001C, 0x0015])
def test_source_validation_and_completions_give_requests_no_way(
    tmp_path: Path, control: int
) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, (ACS_CAPABLE, control))])

    assert _isolation(tree).reaches == ()


def test_egress_control_with_an_empty_vector_opens_what_redirects(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, (0x087F, 0x003D))])

    assert _told(_isolation(tree).reaches) == [
        (NIC_PORT, "EgressCtrl+, and the vector lets these pass", {NIC}, {GPU}, Claim.GROUPS)
    ]


def test_direct_translated_p2p_helps_only_who_lies(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, DIRECT)])
    _with_disk(tree)
    found = _isolation(tree, trusted=[NIC])

    assert found.reaches == ()
    assert _told(found.lies) == [(NIC_PORT, "DirectTrans+", {NIC}, {GPU, DISK}, Claim.GROUPS)]
    assert set(map(str, found.trusted)) == {NIC}


def test_translation_blocking_above_the_turn_stops_no_lie(tmp_path: Path) -> None:
    blocking = root_port(ROOT_PORT, acs=(ACS_CAPABLE, 0x001F))
    found = _isolation(one_switch(tmp_path, instead=[blocking, _port(NIC_PORT, DIRECT)]))

    assert found.reaches == ()
    assert _told(found.lies) == [(NIC_PORT, "DirectTrans+", {NIC}, {GPU}, Claim.GROUPS)]


def test_in_a_cascade_the_lie_turns_below_the_port_that_blocks(tmp_path: Path) -> None:
    instead = [
        downstream_port("0000:22:00.0", below=TOP, acs=(ACS_CAPABLE, 0x001F)),
        downstream_port("0000:24:04.0", below="0000:23:00.0", acs=DIRECT),
    ]
    host = opened(cascade(tmp_path, instead=instead))
    fabric = survey(host, lambda functions: functions)
    found = view_isolation(host, fabric, _addresses("0000:25:00.0"))

    assert _told(found.lies) == [
        ("0000:24:04.0", "DirectTrans+", {"0000:26:00.0"}, {"0000:25:00.0"}, Claim.GROUPS)
    ]


def test_gpus_nics_and_what_vfio_has_are_looked_at_wherever_they_are(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    disk = Function(
        DISK, ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT), below="0000:20:03.0"
    )
    tree.add(
        root_port("0000:20:02.0"),
        replace(nic("0000:26:00.0", below="0000:20:02.0"), group=30),
        root_port("0000:20:03.0"),
        replace(disk, group=31, driver="vfio-pci", vfio=True),
    )
    host = opened(tree)
    found = view_isolation(host, survey(host, lambda functions: functions), _addresses(GPU))

    assert set(map(str, found.owners)) == {GPU, NIC, "0000:26:00.0", DISK}


def test_translation_blocking_stops_the_lie(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, (ACS_CAPABLE, 0x005F))])

    assert _isolation(tree).lies == ()


def test_vfs_stand_behind_their_pf_and_are_trusted_as_it_is(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_port(NIC_PORT, DIRECT)])
    virtual = [f"0000:24:00.{number}" for number in (1, 2)]
    for number, address in enumerate(virtual):
        config = ConfigBuilder("ffff:ffff", 0x020700).express(ENDPOINT)
        tree.add(
            Function(address, config, below=NIC_PORT, group=30 + number, physical_function=NIC)
        )
    found = _isolation(tree, trusted=[NIC])

    (lie,) = _told(found.lies)
    assert lie[2:4] == ({NIC, *virtual}, {GPU})
    assert set(map(str, found.trusted)) == {NIC, *virtual}
    assert found.reaches == ()  # a device's VFs are apart, as SR-IOV and Linux have it


@pytest.mark.parametrize("override", [True, False])
def test_functions_of_a_device_that_only_the_override_parts_are_not_apart(
    tmp_path: Path, *, override: bool
) -> None:
    tree = one_switch(tmp_path)
    second = replace(nic("0000:24:00.1", below=NIC_PORT), group=31)
    tree.add(second)
    if override:
        tree.put("proc/cmdline", "ro pcie_acs_override=downstream,multifunction")
    told = _told(_isolation(tree).reaches)

    both = {NIC, second.address}
    why = "no ACS capability"
    assert told == (
        [
            (f"{NIC}, {second.address}", why, both, both, Claim.GROUPS),
        ]
        if override
        else []  # without it groups of their own say that Linux knows the device to isolate
    )


def test_of_a_port_that_cannot_be_read_nobody_is_said_to_be_apart(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)
    found = _isolation(tree)

    assert found.reaches == ()
    (unknown,) = _told(found.not_known)
    assert unknown[0] == NIC_PORT
    assert unknown[1].startswith("ACS could not be read")
    assert unknown[2:4] == ({NIC}, {GPU})
    assert found.problems


def test_without_groups_what_reaches_is_told_of_all(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False, instead=[_port(NIC_PORT, (ACS_CAPABLE, 0))])
    found = _isolation(tree)

    assert found.iommu is False
    assert [each.claim for each in found.reaches] == [Claim.NOT_KNOWN]


def test_on_a_conventional_bus_all_reach_all(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    bridge = ConfigBuilder("12d8:2304", 0x060400).express(PCIE_TO_PCI_BRIDGE)
    tree.add(replace(_port(DISK_PORT, DIRECT), group=20))
    tree.add(Function("0000:25:00.0", bridge, below=DISK_PORT, group=21, driver="pcieport"))
    pair = ["0000:26:00.0", "0000:26:01.0"]
    for number, address in enumerate(pair):
        config = ConfigBuilder("8086:10d3", 0x020000)
        tree.add(Function(address, config, below="0000:25:00.0", group=22 + number))
    reaches = _told(_isolation(tree).reaches)

    assert [(at, senders, to) for at, _, senders, to, _ in reaches] == [
        (", ".join(pair), set(pair), set(pair))
    ]


def test_in_a_cascade_the_leaf_that_redirects_is_not_enough(tmp_path: Path) -> None:
    top = downstream_port("0000:22:04.0", below=TOP, acs=(ACS_CAPABLE, 0))
    tree = cascade(tmp_path, instead=[top])
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    found = view_isolation(host, fabric, _addresses("0000:25:00.0"))

    assert _told(found.reaches) == [
        (
            "0000:22:04.0",
            "ReqRedir-",
            {"0000:29:00.0"},
            {"0000:25:00.0", "0000:26:00.0"},
            Claim.GROUPS,
        )
    ]


_WORDS = st.one_of(st.none(), st.integers(0, 0x1F).map(lambda bits: bits & ~0x2))
"""ACS Control of a port that is capable of all but EgressCtrl, or None without ACS."""


@settings(max_examples=60, deadline=None)
@given(words=st.tuples(_WORDS, _WORDS, _WORDS, st.integers(0, 0x1F).map(lambda b: b & ~0x2)))
def test_ways_and_the_kernels_rule_agree(
    tmp_path_factory: pytest.TempPathFactory, words: tuple[int | None, int | None, int | None, int]
) -> None:
    acs = [None if word is None else (ACS_CAPABLE, word) for word in words]
    tree = one_switch(
        tmp_path_factory.mktemp("host"),
        instead=[
            _port(GPU_PORT, acs[0]),
            _port(NIC_PORT, acs[1]),
            root_port(ROOT_PORT, acs=(ACS_CAPABLE, words[3])),
        ],
    )
    _with_disk(tree, acs[2])
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    found = view_isolation(host, fabric, _addresses(GPU, NIC))
    ends = [fabric.functions[address] for address in found.owners]
    openings = [each for each in read_openings(host, fabric, ends) if isinstance(each, Opening)]
    reached = _pairs(found.reaches)

    for one in ends:
        for other in ends:
            if one != other and (one, other) in reached:
                assert reach_each_other(openings, one, other)
    for opening in openings:
        lost = opening.missing
        if lost is None or AcsControl.P2P_REQUEST_REDIRECT in lost:
            beside = [peer for peer in opening.peers if peer not in opening.inside]
            assert {(one, to) for one in opening.inside for to in beside} <= reached


def _pairs(reaches: Iterable[Reach]) -> set[tuple[PciFunction, PciFunction]]:
    return {
        (one, other)
        for each in reaches
        for one in each.senders
        for other in each.targets
        if one != other
    }
