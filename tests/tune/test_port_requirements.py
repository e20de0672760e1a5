from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import cascade
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, finding, judge, judged, opened
from tune.profiles import NIC_ROLE, PROFILE, rule, with_ports, with_roles

from pcietune.errors import BadInputError, ExitCode
from pcietune.model.finding import State
from pcietune.model.profile import Profile
from pcietune.model.role_name import RoleName
from pcietune.tune.change.plan import plan


def owed(tree: TreeHost, profile: Profile = PROFILE) -> dict[str, list[str]]:
    """Return what each port owes, in the order of the profile."""
    requirements = [bit.requirement for bit in judged(tree, profile).bits]
    ports = dict.fromkeys(str(r.placed.port.address) for r in requirements)
    return {
        port: [str(r.want) for r in requirements if str(r.placed.port.address) == port]
        for port in ports
    }


def owing(tree: TreeHost, want: str, profile: Profile = PROFILE) -> list[str]:
    """Return the ports that owe ``want``."""
    return [port[5:] for port, wants in owed(tree, profile).items() if want in wants]


def test_direct_trans_is_owed_where_the_paths_of_nic_and_gpu_part_and_nowhere_else(
    tmp_path: Path,
) -> None:
    assert owing(cascade(tmp_path), "DirectTrans+") == ["22:00.0", "24:04.0"]


def test_with_a_nic_in_each_leaf_both_ports_of_the_top_switch_owe_direct_trans(
    tmp_path: Path,
) -> None:
    found = owing(cascade(tmp_path, second_nic=True), "DirectTrans+")

    assert found == ["22:00.0", "22:04.0", "24:04.0", "28:04.0"]


def test_trans_blk_is_judged_above_nics_only(tmp_path: Path) -> None:
    assert owing(cascade(tmp_path), "TransBlk-") == ["20:01.0", "22:00.0", "24:04.0"]


def test_isolation_is_owed_by_every_port(tmp_path: Path) -> None:
    every = ["20:01.0", "22:00.0", "22:04.0", "24:00.0", "24:04.0", "28:00.0"]

    assert owing(cascade(tmp_path), "UpstreamFwd+") == every


def test_nothing_is_opened_for_a_nic_that_is_not_trusted_and_that_is_told(tmp_path: Path) -> None:
    profile = with_roles({RoleName.NIC: replace(NIC_ROLE, trusted=False)})

    host = opened(one_switch(tmp_path))
    audited = judge(host, profile)
    direct = finding(audited, "port.nic-side.DirectTrans", NIC_PORT)

    assert direct.state is State.NOT_APPLICABLE
    assert direct.reason == "the profile trusts no NIC below with it, so the port stays closed"
    assert plan(host, audited, while_in_use=False).writes == ()


def test_a_port_in_two_places_owes_the_union_once_under_the_first_place(tmp_path: Path) -> None:
    profile = with_ports(
        nic_side=rule(require="ReqRedir+ UpstreamFwd+"),
        gpu_side=rule(require="ReqRedir+ CmpltRedir+"),
    )
    tree = cascade(tmp_path, second_nic=True)

    found = [
        bit.finding.id
        for bit in judged(tree, profile).bits
        if str(bit.finding.subject.address) == "0000:22:00.0"
    ]

    assert found == [
        "port.nic-side.ReqRedir",
        "port.nic-side.UpstreamFwd",
        "port.gpu-side.CmpltRedir",
    ]


def test_what_one_place_may_write_is_writable_though_another_only_asks_for_it(
    tmp_path: Path,
) -> None:
    profile = with_ports(nic_side=rule(require="DirectTrans+"), gpu_side=rule(set="DirectTrans+"))

    bits = judged(cascade(tmp_path, second_nic=True), profile).bits

    assert {
        str(bit.finding.subject.address)[5:]: bit.requirement.writable
        for bit in bits
        if bit.finding.id == "port.nic-side.DirectTrans"
    } == {"22:00.0": True, "22:04.0": True, "24:04.0": False, "28:04.0": False}


def test_places_that_want_opposite_things_of_one_port_are_bad_input(tmp_path: Path) -> None:
    profile = with_ports(nic_side=rule(require="ReqRedir-"), gpu_side=rule(require="ReqRedir+"))

    with pytest.raises(BadInputError) as said:
        judged(cascade(tmp_path, second_nic=True), profile)

    assert str(said.value) == (
        "0000:22:00.0 is both nic-side and gpu-side, and the profile wants ReqRedir- and "
        "ReqRedir+ there"
    )
    assert said.value.exit_code == ExitCode.BAD_INPUT


def test_such_a_profile_is_fine_where_no_port_is_at_both_places(tmp_path: Path) -> None:
    profile = with_ports(nic_side=rule(require="ReqRedir-"), gpu_side=rule(require="ReqRedir+"))

    assert owed(one_switch(tmp_path), profile) == {GPU_PORT: ["ReqRedir+"], NIC_PORT: ["ReqRedir-"]}
