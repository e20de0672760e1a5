"""What no plan can say is refused where it is read, before anything is made of it."""

import re
from collections.abc import Iterable
from typing import TypeAlias

import msgspec
import pytest
from guest.plans import a800_four_gpus_on_two_nodes
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.plan import Expectation
from pcietune.guest.plan_text import parse_plan, plan_text

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | None"
Keys = tuple[str | int, ...]
FREE = {
    *("bandwidth", "means", "not_known", "notes", "pcietune", "product", "profile", "reasons"),
    *("vendor", "warnings", "why"),
}
"""Keys of texts for people."""
HOSTILE = (
    "gpu0\nid",
    "gpu0,romfile=/etc/shadow",
    "$(id)",
    "`id`",
    "gpu0; id",
    "gpu0 id",
    "gpu0'",
    'gpu0"',
    "gpu0/../..",
    "<gpu0/>",
    "gpu0--",
    "-device",
    "gpu0\x00",
    "\x1b[2J",
    "gpu\u202e0",
    "",
)
HARMLESS = {
    "gpu0--": {"name", "parent", "one", "other", "board"},  # an id to QEMU and libvirt
    "gpu0 id": {"link_speed"},  # which is in no command
    "gpu0/../..": {"link_speed"},
}


def _document() -> dict[str, Json]:
    plan = a800_four_gpus_on_two_nodes()
    plan.pairs.append(
        Expectation(one="gpu0", other="gpu1", means="", bandwidth="", why="", not_known=[])
    )
    modules = {"gpu0": 1, "gpu1": 2, "gpu2": 3, "gpu3": 4}
    nvswitch = replace(plan.nvswitch, switches=["0000:60:00.0"], partition=7, modules=modules)
    functions = [replace(each, physical_function="0000:90:00.0") for each in plan.functions]
    document: dict[str, Json] = msgspec.to_builtins(
        replace(plan, functions=functions, nvswitch=nvswitch)
    )
    return document


def _read(document: dict[str, Json]) -> None:
    parse_plan(msgspec.json.encode(document).decode(), "vm0.json")


def _with(keys: Keys, value: Json) -> dict[str, Json]:
    """Return a document that has a value somewhere."""
    document = _document()
    within: Json = document
    for key in keys[:-1]:
        within = _at(within, key)
    if isinstance(within, dict):
        within[str(keys[-1])] = value
    else:
        assert isinstance(within, list)
        within[int(keys[-1])] = value
    return document


def _at(within: Json, key: str | int) -> Json:
    if isinstance(within, dict):
        return within[str(key)]
    assert isinstance(within, list)
    return within[int(key)]


def _texts(within: Json, keys: Keys = ()) -> list[Keys]:
    """Return where a document has texts that become words of commands, properties or addresses."""
    if isinstance(within, str):
        return [keys]
    items: Iterable[tuple[str | int, Json]] = ()
    if isinstance(within, dict):
        items = within.items()
    if isinstance(within, list):
        items = enumerate(within)
    return [found for key, each in items if key not in FREE for found in _texts(each, (*keys, key))]


def test_what_is_in_order_is_read() -> None:
    _read(_document())


@pytest.mark.parametrize("keys", _texts(_document()), ids=lambda keys: ".".join(map(str, keys)))
def test_no_text_of_a_plan_holds_what_a_shell_qemu_or_xml_takes_for_its_own(
    keys: Keys,
) -> None:
    for hostile in HOSTILE:
        if keys[-1] in HARMLESS.get(hostile, set()):
            continue
        with pytest.raises(BadInputError):
            _read(_with(keys, hostile))


def test_no_module_has_a_name_that_is_none() -> None:
    for hostile in HOSTILE:
        with pytest.raises(BadInputError):
            _read(_with(("nvswitch", "modules"), {hostile: 1}))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("bridges.1.parent", "dp0", "rp0 is below dp0, which is no bridge before it"),
        ("bridges.1.parent", "rp0", "rp0 is below rp0, which is no bridge before it"),
        ("bridges.0.parent", "gpu0", "pxb0 is below gpu0, which is no bridge before it"),
        ("bridges.2.parent", "pxb0", "up0, a x3130-upstream, cannot be below pxb0"),
        ("bridges.2.parent", "pcie.0", "up0, a x3130-upstream, cannot be below pcie.0"),
        ("bridges.2.name", "rp0", "rp0 is there twice"),
        ("bridges.2.name", "pcie.0", "regex"),
        ("bridges.2.device", 1, "up0 is Device 1 below rp0, which has only 0"),
        ("bridges.1.device", 32, "<= 31"),
        ("bridges.1.function", 8, "<= 7"),
        ("bridges.1.address", "0000:21:00.0", "rp0 is said to be at 0000:21:00.0, and its place"),
        ("bridges.1.address", "0000:20:1f.9", "regex"),
        ("bridges.4.bus", 0x23, "the bus 23 is there 2 times"),
        ("bridges.4.bus", 0x22, "dp1 has buses 22 to 24, which cannot be"),
        ("bridges.4.last_bus", 0xFF, "dp1 has buses 24 to ff, which cannot be"),
        ("bridges.0.bus", 256, "<= 255"),
        ("bridges.0.bus", 0, "pxb0 has buses 00 to 26, which cannot be"),
        ("bridges.0.cell", 2, "pxb0 is near to cell 2, which the plan has not"),
        ("functions.0.parent", "dp9", "gpu0 is below dp9, which is no port"),
        ("functions.0.parent", "gpu1", "gpu0 is below gpu1, which is no port"),
        ("functions.0.parent", "up0", "gpu0 is below up0, which is no port"),
        (
            "functions.0.parent",
            "dp1",
            "gpu0 is said to be at 0000:23:00.0, and its place is 0000:24",
        ),
        ("functions.1.name", "gpu0", "the name gpu0 is there 2 times"),
        ("functions.1.name", "dp0", "the name dp0 is there 2 times"),
        ("functions.1.address", "0000:23:00.0", "the address on the host 0000:23:00.0 is there"),
        ("functions.1.guest_address", "23", "regex"),
        ("functions.1.cell", 2, "gpu1 is near to cell 2, which the plan has not"),
        ("functions.1.clique", 16, "<= 15"),
        ("functions.1.bars_64", [0], ">= 1"),
        ("cells", [], "it has no cell"),
        ("cells.1.cell", 0, "its cells are not numbered from 0 on"),
        ("cells.0.vcpus", [0, 1, 2, 3, 4, 5, 6, 8], "each number from 0 on, once"),
        ("cells.0.vcpus.0", 1 << 31, "<= 65535"),
        ("cells.0.vcpus.0", -1, ">= 0"),
        ("cells.0.host_cpus", [0], "cell 0 pins 8 vCPUs to 1 CPUs"),
        ("cells.0.threads", 0, ">= 1"),
        ("bridges.4.chassis", 256, "<= 255"),
        ("cells.0.memory_mib", 0, ">= 1"),
        ("cells.0.memory_mib", 1 << 40, "<= "),
        ("cells.0.memory_mib", 1025, "cell 0 has no whole number of its hugepages"),
        ("cells.0.distances", [10], "cell 0 has 1 distances to 2 cells"),
        ("cells.0.distances.0", 20, "cell 0 has another distance to itself than 10"),
        ("budget.memory_64_mib", 0, ">= 1"),
        ("nvswitch.modules", {"nic0": 1}, "nic0 has a module, and is no GPU of the plan"),
        ("nvswitch.modules", {"gpu0": 1, "gpu1": 1}, "the module 1 is there 2 times"),
        ("nvswitch.modules", {"gpu0": 17}, "<= 16"),
    ],
)
def test_what_cannot_be_is_said(key: str, value: Json, said: str) -> None:
    keys = tuple(int(each) if each.isdigit() else each for each in key.split("."))

    with pytest.raises(BadInputError, match=re.escape(said)):
        _read(_with(keys, value))


def test_a_plan_without_cpus_is_none() -> None:
    plan = a800_four_gpus_on_two_nodes()
    cells = [replace(each, vcpus=[], host_cpus=[]) for each in plan.cells]

    with pytest.raises(BadInputError, match="each number from 0 on, once"):
        parse_plan(plan_text(replace(plan, cells=cells)), "vm0.json")


def test_two_ports_of_one_number_are_refused_as_qemu_refuses_them() -> None:
    plan = a800_four_gpus_on_two_nodes()
    bridges = [replace(each, chassis=7, slot=7) for each in plan.bridges]

    with pytest.raises(BadInputError, match=r"the chassis and slot \(7, 7\) is there 10 times"):
        parse_plan(plan_text(replace(plan, bridges=bridges)), "vm0.json")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"schema": 1, "x":' + "[" * 200_000])
def test_however_deep_a_file_is_it_is_no_plan(text: str) -> None:
    with pytest.raises(BadInputError, match=r"vm0\.json: no plan of a VM"):
        parse_plan(text, "vm0.json")
