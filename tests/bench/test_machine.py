"""What a machine's file may say."""

import re
from pathlib import Path

import msgspec
import pytest

from bench.fabric import lay_out
from bench.machine import Machine, load_machine

MACHINES = sorted(path.stem for path in (Path(__file__).parent / "machines").glob("*.yaml"))
NIC = {"id": "15b3:101b", "class": 0x020000}


def machine(*ports: object) -> Machine:
    return msgspec.convert({"name": "made-up", "roots": [{"ports": ports}]}, Machine)


@pytest.mark.parametrize("name", MACHINES)
def test_every_shipped_file_describes_a_machine(name: str) -> None:
    assert load_machine(name).name == name


@pytest.mark.parametrize(
    ("port", "complaint"),
    [
        pytest.param({"nmae": "port0"}, "unknown field `nmae`", id="unknown key"),
        pytest.param({"acs": {"capability": 0x10000}}, "<= 65535", id="wide register"),
        pytest.param({"endpoint": {"id": "15B3:101B", "class": 0}}, "regex", id="id"),
        pytest.param({"name": "Port0"}, "regex", id="name"),
        pytest.param(
            {"endpoint": {"id": "15b3:1021", "class": 0x020000, "vfs": {"most": 0, "device": 1}}},
            ">= 1",
            id="no VFs",
        ),
        pytest.param(
            {
                "endpoint": NIC,
                "switch": {"id": "1000:c010", "ports": []},
            },
            "not both",
            id="two things in one port",
        ),
        pytest.param(
            {"endpoint": {**NIC, "beside": [{**NIC, "beside": [NIC]}]}},
            "all beside the first",
            id="functions below functions",
        ),
        pytest.param(
            {"endpoint": {**NIC, "beside": [NIC] * 8}}, "at most 8 functions", id="nine functions"
        ),
    ],
)
def test_a_mistake_is_named(port: object, complaint: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=re.escape(complaint)):
        machine(port)


def test_a_name_given_twice_is_a_mistake() -> None:
    with pytest.raises(msgspec.ValidationError, match="given twice: port0"):
        machine({"name": "port0"}, {"name": "port0"})


def test_a_location_is_the_path_of_slots_from_the_root_bus() -> None:
    locations = {
        function.device_id: function.location
        for function in lay_out(load_machine("a800")).functions
    }

    assert locations["root0"] == "0000:20:00.0"
    assert locations["nic1"] == "0000:20:00.0/00.0/03.0/00.0"
    assert locations["nvswitch5"] == "0000:40:04.0/00.0"


def test_functions_of_a_device_are_told_by_the_last_digit() -> None:
    nic = {**NIC, "name": "nic0", "beside": [{**NIC, "name": "nic1"}]}

    functions = lay_out(machine({"name": "port0", "endpoint": nic})).functions

    assert [each.location for each in functions[1:]] == ["0000:00:08.0/00.0", "0000:00:08.0/00.1"]
