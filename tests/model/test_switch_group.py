from dataclasses import replace
from pathlib import Path

from hypothesis import given
from model.random_fabrics import HOSTS, Host, Switch, build
from trees.fabrics import cascade, two_switches
from trees.function import gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import judged
from tune.profiles import NIC_ROLE, PROFILE, with_roles

from pcietune.model.profile import Place
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import PlacedPort, SwitchGroup, switch_groups
from pcietune.registers.express import PortType


def places(tree: TreeHost) -> dict[str, tuple[str, ...]]:
    """Return the places of all ports of a tree's only switch group, by address."""
    (group,) = judged(tree).groups
    return {str(placed.port.address)[5:]: placed.places for placed in group.ports}


def test_a_switch_group_is_named_after_its_topmost_upstream_port(tmp_path: Path) -> None:
    groups = judged(two_switches(tmp_path)).groups

    assert [group.name for group in groups] == ["0000:20:01.0/00.0", "0000:40:01.0/00.0"]
    assert [[str(nic.address) for nic in group.nics] for group in groups] == [
        ["0000:24:00.0", "0000:25:00.0"],
        ["0000:44:00.0", "0000:45:00.0"],
    ]


def test_in_a_cascade_ports_have_the_places_where_paths_part(tmp_path: Path) -> None:
    assert places(cascade(tmp_path)) == {
        "20:01.0": (Place.UPSTREAM,),
        "22:00.0": (Place.NIC_SIDE,),
        "22:04.0": (Place.GPU_SIDE,),
        "24:00.0": (Place.GPU_SIDE,),
        "24:04.0": (Place.NIC_SIDE,),
        "28:00.0": (Place.UPSTREAM,),
    }


def test_a_port_between_two_leaves_with_nics_and_gpus_is_at_both_sides(tmp_path: Path) -> None:
    found = places(cascade(tmp_path, second_nic=True))

    assert found["22:00.0"] == found["22:04.0"] == (Place.NIC_SIDE, Place.GPU_SIDE)


def test_an_upstream_port_has_no_place(tmp_path: Path) -> None:
    assert "21:00.0" not in places(cascade(tmp_path))


def test_a_nic_inside_a_switch_makes_no_port_decide(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[gpu("0000:24:00.0", below="0000:22:04.0")])
    tree.add(nic("0000:22:1f.0", below="0000:21:00.0"))

    assert set(places(tree).values()) == {(Place.UPSTREAM,)}


def test_a_port_opens_for_none_of_the_nics_that_are_not_trusted() -> None:
    profile = with_roles({RoleName.NIC: replace(NIC_ROLE, trusted=False)})
    host = build([Switch((RoleName.GPU, RoleName.NIC))])

    (group,) = switch_groups(host.fabric, host.roles, profile)

    assert [placed.opens_for for placed in group.ports] == [()] * len(group.ports)


def groups_of(host: Host) -> tuple[SwitchGroup, ...]:
    return switch_groups(host.fabric, host.roles, PROFILE)


@given(HOSTS)
def test_switch_groups_share_no_function_and_no_port(host: Host) -> None:
    members = [f.address for group in groups_of(host) for f in (*group.gpus, *group.nics)]
    ports = [placed.port.address for group in groups_of(host) for placed in group.ports]

    assert len(set(members)) == len(members)
    assert len(set(ports)) == len(ports)


@given(HOSTS)
def test_a_nic_is_in_a_group_exactly_if_a_gpu_is_below_the_same_topmost_switch(host: Host) -> None:
    tops = {host.fabric.topmost_switch(gpu) for gpu in host.of_role(RoleName.GPU)} - {None}

    grouped = {nic for group in groups_of(host) for nic in group.nics}

    assert grouped == {
        nic for nic in host.of_role(RoleName.NIC) if host.fabric.topmost_switch(nic) in tops
    }


def _parts(host: Host, placed: PlacedPort, group: SwitchGroup) -> bool:
    """Return whether some NIC is below the port and some GPU only below another of its switch.

    This says from the addresses alone what a request control port is: the last bus on which the
    paths of both are still together is the port's own.
    """
    port = placed.port
    below_switch = set(host.fabric.below(host.fabric.ports_above(port)[-1]))
    return any(
        port.address in nic.ports
        and any(gpu in below_switch and port.address not in gpu.ports for gpu in group.gpus)
        for nic in group.nics
    )


@given(HOSTS)
def test_a_port_is_nic_side_exactly_where_the_path_to_a_gpu_leaves_that_of_a_nic(
    host: Host,
) -> None:
    for group in groups_of(host):
        for placed in group.ports:
            is_root = host.fabric.port_type(placed.port) is PortType.ROOT_PORT
            expected = not is_root and _parts(host, placed, group)

            assert (Place.NIC_SIDE in placed.places) is expected


@given(HOSTS)
def test_every_port_of_a_group_is_above_a_member_and_has_a_place(host: Host) -> None:
    for group in groups_of(host):
        for placed in group.ports:
            assert any(placed.port.address in f.ports for f in (*group.gpus, *group.nics))
            assert placed.places
            assert placed.above_nic is any(placed.port.address in nic.ports for nic in group.nics)
