from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.function import nic, root_port
from trees.host import TreeHost
from tune.judged import judged

from pcietune.address import PciAddress
from pcietune.model.device_event import Action, DeviceEvent
from pcietune.tune.watch.concerned import concerned_groups

FIRST, SECOND = "0000:20:01.0/00.0", "0000:40:01.0/00.0"  # where the topmost upstream ports are
ELSEWHERE = "0000:81:00.0"


def concerned(tree: TreeHost, *addresses: str) -> frozenset[str] | None:
    audited = judged(tree)
    events = [DeviceEvent(PciAddress.parse(each), Action.CHANGE) for each in addresses]
    return concerned_groups(events, audited.fabric, audited.groups)


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    tree = two_switches(tmp_path)
    tree.add(root_port("0000:80:01.0"), nic(ELSEWHERE, below="0000:80:01.0"))
    return tree


@pytest.mark.parametrize(
    "address",
    ["0000:24:00.0", "0000:22:00.0", "0000:21:00.0", "0000:20:01.0"],
    ids=["a NIC", "a port", "the topmost upstream port", "the root port above"],
)
def test_an_event_concerns_the_group_that_its_function_is_in_or_above(
    tree: TreeHost, address: str
) -> None:
    assert concerned(tree, address) == frozenset({FIRST})


def test_events_may_concern_several_groups_or_none(tree: TreeHost) -> None:
    assert concerned(tree, "0000:24:00.0", "0000:44:00.0", ELSEWHERE) == frozenset({FIRST, SECOND})
    assert concerned(tree, ELSEWHERE) == frozenset()


def test_of_a_function_that_nobody_knows_nothing_is_known(tree: TreeHost) -> None:
    assert concerned(tree, "0000:24:00.0", "0000:99:00.0") is None
