"""Module ids that somebody wrote down, and what is wrong with them, by line."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import gpu
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.nvidia.by_hand import parse_modules, read_module_file
from pcietune.host.sysfs import SysfsHost
from pcietune.host.yaml.nodes import DocumentError
from pcietune.model.function import PciFunction

FIRST, SECOND = PciAddress.parse("0000:23:00.0"), PciAddress.parse("0000:26:00.0")
LOCATION = "0000:20:01.0/00.0/00.0/00.0"
NO_GPU = "is no GPU of NVIDIA's on this host, which has 0000:23:00.0, 0000:26:00.0"


@pytest.fixture
def functions(tmp_path: Path) -> list[PciFunction]:
    tree = one_switch(tmp_path / "host")
    tree.add(replace(gpu("0000:26:00.0"), driver="vfio-pci"))
    return list(SysfsHost(HostFiles(tree.root, recorded=True)).functions())


@pytest.mark.parametrize(
    "text",
    [
        "0000:23:00.0: 3\n0000:26:00.0: 1\n",  # which YAML 1.1 takes for numbers to base 60
        "'0000:23:00.0': 3\n\"26:00.0\": 1\n",
        f"{LOCATION}: 3\n0000:26:00.0: 1 # by nvidia-smi -q\n",
    ],
)
def test_keys_are_addresses_or_locations_quoted_or_not(
    functions: list[PciFunction], text: str
) -> None:
    assert parse_modules(text, "m.yaml", functions) == {FIRST: 3, SECOND: 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "0000:99:00.0: 1",
            f"m.yaml:1:1: '0000:99:00.0' {NO_GPU}",
        ),
        (
            "0000:24:00.0: 1",  # a NIC
            f"m.yaml:1:1: '0000:24:00.0' {NO_GPU}",
        ),
        (
            "gpu0: 1",
            f"m.yaml:1:1: 'gpu0' {NO_GPU}",
        ),
        (
            "[1]: 1",
            f"m.yaml:1:1: a list or mapping {NO_GPU}",
        ),
        (
            "0000:23:00.0: 17",
            "m.yaml:1:15: expected a module id from 1 to 16, but found the number 17",
        ),
        (
            "0000:23:00.0: 0",
            "m.yaml:1:15: expected a module id from 1 to 16, but found the number 0",
        ),
        (
            "0000:23:00.0: one",
            "m.yaml:1:15: expected a module id from 1 to 16, but found the text 'one'",
        ),
        (
            "0000:23:00.0: [1]",
            "m.yaml:1:15: expected a module id from 1 to 16, but found a list",
        ),
        (
            f"0000:23:00.0: 1\n{LOCATION}: 2",
            "m.yaml:2:1: 0000:23:00.0 has module 1 already",
        ),
        (
            "0000:23:00.0: 1\n0000:26:00.0: 1",
            "m.yaml:2:15: module 1 is that of 0000:23:00.0 already",
        ),
        ("- 1", "m.yaml:1:1: expected a mapping, but found a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    functions: list[PciFunction], text: str, said: str
) -> None:
    with pytest.raises(DocumentError) as raised:
        parse_modules(text, "m.yaml", functions)

    assert str(raised.value) == said


def test_every_complaint_is_told_at_once(functions: list[PciFunction]) -> None:
    with pytest.raises(DocumentError) as raised:
        parse_modules("gpu0: 1\n0000:23:00.0: 40\n", "m.yaml", functions)

    assert [each.line for each in raised.value.complaints] == [1, 2]


def test_a_host_without_gpus_has_none_at_all() -> None:
    with pytest.raises(DocumentError, match="which has none at all"):
        parse_modules("0000:23:00.0: 1", "m.yaml", [])


def test_a_file_is_read_and_what_to_write_is_told(
    functions: list[PciFunction], tmp_path: Path
) -> None:
    file = tmp_path / "modules.yaml"
    file.write_text("0000:23:00.0: 2\n")

    assert read_module_file(file, functions) == {FIRST: 2}
    file.write_text("0000:23:00.0: two\n")
    with pytest.raises(DocumentError) as raised:
        read_module_file(file, functions)
    assert raised.value.hint == (
        "write a line for each GPU, its address and its Module ID of nvidia-smi -q: 0000:23:00.0: 1"
    )
    with pytest.raises(BadInputError, match="No such file"):
        read_module_file(tmp_path / "absent", functions)
