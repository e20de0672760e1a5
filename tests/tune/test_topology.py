from collections.abc import Iterable
from pathlib import Path

from trees.fabrics import cascade
from trees.function import nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, NIC, NIC_PORT, opened, surveyed
from tune.profiles import PROFILE

from pcietune.errors import ExitCode
from pcietune.registers.express import PortType
from pcietune.tune.roles import assign_roles
from pcietune.tune.topology import Node, topology


def nodes(tree: TreeHost, *, everything: bool = False) -> dict[str, Node]:
    """Return all nodes of a tree by address, parents first."""
    host = opened(tree)
    fabric = surveyed(host)
    roles = assign_roles(PROFILE, fabric, host)

    def flat(some: Iterable[Node]) -> Iterable[Node]:
        for node in some:
            yield node
            yield from flat(node.children)

    found = topology(host, fabric, roles, everything=everything)
    return {str(node.function.address): node for node in flat(found)}


def test_the_tree_has_every_bridge_above_what_has_a_role(tmp_path: Path) -> None:
    assert list(nodes(one_switch(tmp_path))) == [
        "0000:20:01.0",
        "0000:21:00.0",
        "0000:22:00.0",
        GPU,
        NIC_PORT,
        NIC,
    ]


def test_a_cascade_shows_who_is_below_whom(tmp_path: Path) -> None:
    leaf = nodes(cascade(tmp_path))["0000:23:00.0"]

    assert [str(child.function.address) for child in leaf.children] == [
        "0000:24:00.0",
        "0000:24:04.0",
    ]


def test_what_has_no_role_is_shown_only_if_everything_is(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))

    assert "0000:41:00.0" not in nodes(tree)
    assert "0000:41:00.0" in nodes(tree, everything=True)


def test_a_node_has_role_port_type_and_the_words_of_its_registers(tmp_path: Path) -> None:
    found = nodes(one_switch(tmp_path))

    assert (found[NIC].role, found[NIC].port_type, found[NIC].ats) == ("nic", None, (0x20, 0x8000))
    assert found[NIC_PORT].port_type is PortType.DOWNSTREAM_PORT
    assert found[NIC_PORT].acs == (0x005F, 0x001D)
    assert found["0000:21:00.0"].acs is None
    assert found[GPU].ats is None


def test_a_function_that_does_not_answer_is_shown_with_its_problem(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC)

    found = nodes(tree)

    problem = found[NIC].problem
    assert problem
    assert "does not answer" in str(problem)
    assert found[NIC].state
    assert found["0000:20:01.0"].codes() == [ExitCode.UNREADABLE]


def test_what_is_below_an_unknown_bridge_is_a_tree_of_its_own(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tree.directory("0000:21:00.0") / "uevent").unlink()
    host = opened(tree)

    found = topology(host, surveyed(host), {}, everything=True)

    tops = [str(node.function.address) for node in found]
    assert tops == ["0000:20:01.0", "0000:22:00.0", NIC_PORT]
