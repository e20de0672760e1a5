from dataclasses import replace
from pathlib import Path

import pytest
from model.functions import function
from trees.function import nic, root_port
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import NIC_PORT, at, opened, surveyed
from tune.profiles import PROFILE

from pcietune.registers.express import PortType
from pcietune.tune.match.survey import concerned, is_gpu


@pytest.mark.parametrize(
    ("kind", "gpu"),
    [
        pytest.param(("10de:20f3", 0x030200), True, id="NVIDIA 3D controller"),
        pytest.param(("10de:2204", 0x030000), True, id="NVIDIA VGA controller"),
        pytest.param(("1002:74a1", 0x120000), True, id="AMD accelerator"),
        pytest.param(("1002:740c", 0x038000), True, id="AMD display controller without VGA"),
        pytest.param(("8086:3e98", 0x038000), False, id="another's display controller"),
        pytest.param(("1a03:2000", 0x030000), False, id="a BMC's VGA controller"),
        pytest.param(("10de:1aef", 0x040300), False, id="a GPU's audio function"),
    ],
)
def test_a_gpu_is_known_by_its_class(kind: tuple[str, int], *, gpu: bool) -> None:
    assert is_gpu(function("23:00.0", kind)) is gpu


def test_ports_that_no_requirement_is_about_are_not_read(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))
    host = opened(tree)

    chosen = concerned(host.functions(), [PROFILE])

    assert [str(f.address) for f in chosen] == ["0000:23:00.0", "0000:24:00.0"]


def test_a_profile_without_a_role_concerns_nothing(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))

    assert concerned(host.functions(), [replace(PROFILE, roles={})]) == []


def test_a_port_that_does_not_answer_is_what_its_place_says(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)
    host = opened(tree)

    assert surveyed(host).port_type(at(host, NIC_PORT)) is PortType.DOWNSTREAM_PORT
