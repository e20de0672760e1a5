"""``pcietune guest nvswitch``."""

import json
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from guest.nvswitch.fmpm import fmpm_list
from guest.plans import a800_two_gpus, l20_one_gpu_and_a_vf
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, nvswitch
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.errors import ExitCode
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.plan_text import plan_text

A100 = "10de:20b2"


def _plan(root: Path, model: NvSwitchModel = NvSwitchModel.HOST) -> Path:
    plan = a800_two_gpus()
    part = msgspec.structs.replace(
        plan.nvswitch,
        model=model,
        partition=11,
        modules={"gpu0": 2, "gpu1": 1},
        switches=["0000:2d:00.0"],
    )
    path = root / "vm0.json"
    path.write_text(plan_text(msgspec.structs.replace(plan, nvswitch=part)))
    return path


def _host(root: Path) -> TreeHost:
    """Return a host with two A100, 03:00.0 and 04:00.0, and two NVSwitches."""
    tree = TreeHost(root)
    for bus in (3, 4):
        config = ConfigBuilder(A100, 0x030200).express(ENDPOINT)
        tree.add(Function(f"0000:{bus:02x}:00.0", config))
    tree.add(nvswitch("0000:07:00.0"), nvswitch("0000:08:00.0"))
    return tree


def test_with_a_plan_the_steps_around_its_vm_are_told(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "nvswitch", _plan(tmp_path), "--active", "7", "--active", "12")

    lines = run.stdout.splitlines()
    assert run.exit_code == ExitCode.OK
    assert lines[0] == "vm0: 2 GPUs of HGX A800, one board"
    assert lines[2:5] == [
        "  gpu0  0000:23:00.0  module 2",
        "  gpu1  0000:24:00.0  module 1",
        "  partition 11 (modules 1, 2), 8 NVLinks for each GPU",
    ]
    commands = [line.strip() for line in lines if line.startswith("       ")]
    assert [c for c in commands if c.startswith("fmpm") and c != "fmpm -l"] == [
        "fmpm -d 7",
        "fmpm -a 11",
        "fmpm -d 11",
    ]
    assert "11 of this VM, and 12 of others" in run.stdout


def test_fabric_managers_list_tells_what_is_active(pcietune: Pcietune, tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    listed.write_text(fmpm_list({11: [1, 2], 7: [1, 2, 3, 4], 12: [3, 4]}, active=[7]))
    of_plan = pcietune("guest", "nvswitch", _plan(tmp_path), "--fmpm", listed)
    rows = pcietune("guest", "nvswitch", "--board", "a800", "--fmpm", listed).stdout.splitlines()

    assert "fmpm -d 7" in of_plan.stdout
    assert "11 of this VM alone" in of_plan.stdout
    assert [row.split()[:3] for row in rows[2:5]] == [
        ["7", "18", "active"],
        ["11", "18", "taken"],
        ["12", "18", "taken"],
    ]


def test_what_is_inferred_is_called_so(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "nvswitch", _plan(tmp_path, NvSwitchModel.SHARED))

    assert "host: inference: Fabric Manager trains the links" in run.stdout
    assert "note  inference: whoever reaches Fabric Manager's port" in run.stdout


def test_fmpms_way_to_fabric_manager_is_told(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "nvswitch", _plan(tmp_path), "--unix-domain-socket", "/run/fm")

    assert "FM_CMD_UNIX_SOCKET_PATH=/run/fm" in run.stdout
    assert "fmpm --unix-domain-socket /run/fm -a 11" in run.stdout


def test_as_a_document_it_says_the_same(pcietune: Pcietune, tmp_path: Path) -> None:
    plan = _plan(tmp_path, NvSwitchModel.SHARED)
    run = pcietune("guest", "nvswitch", plan, "--active", "1", "--json")
    document = json.loads(run.stdout)

    assert (document["schema"], document["vm"], document["board"]) == (1, "vm0", "a800")
    assert document["model"] == "shared"
    assert document["partition"] == {"id": 11, "modules": [1, 2], "links": 8}
    assert [each["id"] for each in document["deactivate_first"]] == [1]
    assert document["gpus"][0] == {"name": "gpu0", "address": "0000:23:00.0", "module": 2}
    assert document["service_vm"]["always"] == ["0000:2d:00.0"]
    assert document["config"][0] == "FABRIC_MODE=1"
    assert {"where", "text", "commands", "inference"} == set(document["before"][0])
    assert document["after"][-1]["commands"] == ["fmpm -l"]
    assert document["restart"]
    assert {"text", "inference"} == set(document["notes"][0])


def test_a_plan_without_a_partition_shows_none(pcietune: Pcietune, tmp_path: Path) -> None:
    plan = a800_two_gpus()
    path = tmp_path / "vm0.json"
    path.write_text(plan_text(plan))
    text = pcietune("guest", "nvswitch", path)
    document = json.loads(pcietune("guest", "nvswitch", path, "--json").stdout)

    assert "  gpu0  0000:23:00.0  module not known" in text.stdout.splitlines()
    assert "  its partition is not known" in text.stdout.splitlines()
    assert (document["partition"], document["gpus"][0]["module"]) == (None, None)
    assert document["service_vm"] is None


def test_a_vm_with_nvswitches_of_its_own_has_no_partition(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    plan = a800_two_gpus()
    part = msgspec.structs.replace(plan.nvswitch, model=NvSwitchModel.FULL)
    path = tmp_path / "vm0.json"
    one = msgspec.structs.replace(plan, functions=plan.functions[:1], nvswitch=part)
    path.write_text(plan_text(one))
    run = pcietune("guest", "nvswitch", path)

    assert run.stdout.startswith("vm0: 1 GPU of HGX A800")
    assert "partition" not in run.stdout.split("note ", maxsplit=1)[0]
    assert "NVreg_NvLinkDisable=1" in run.stdout


def test_without_a_plan_a_hosts_partitions_are_listed(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "nvswitch", "--from", _host(tmp_path).root, "--active", "11")

    rows = run.stdout.splitlines()
    assert run.exit_code == ExitCode.OK
    assert rows[0] == "HGX A100, one board (a100)"
    assert rows[2].split() == [
        "1",
        "12",
        "taken",
        "by",
        "11",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
    ]
    assert rows[5].split() == ["11", "12", "active", "1", "2"]
    assert rows[6].split() == ["12", "12", "free", "3", "4"]
    assert "no address tells it" in run.stdout
    assert rows[-1].startswith("note  MIG turns")
    assert "  0000:07:00.0" in rows
    assert "  0000:03:00.0, until Fabric Manager has begun (inference)" in rows


def test_modules_by_hand_tell_which_gpu_each_is(pcietune: Pcietune, tmp_path: Path) -> None:
    modules = tmp_path / "modules.yaml"
    modules.write_text("0000:03:00.0: 10\n0000:04:00.0: 9\n")
    arguments = ("--from", _host(tmp_path / "host").root, "--modules", modules)
    text = pcietune("guest", "nvswitch", *arguments)
    document = json.loads(pcietune("guest", "nvswitch", *arguments, "--json").stdout)

    assert "   9  0000:04:00.0" in text.stdout.splitlines()
    assert document["board"] == "a100-top"  # its modules are 9 to 16
    assert document["modules"][:3] == [
        {"module": 9, "address": "0000:04:00.0"},
        {"module": 10, "address": "0000:03:00.0"},
        {"module": 11, "address": None},
    ]
    assert document["partitions"][0] == {
        "id": 2,
        "modules": [9, 10, 11, 12, 13, 14, 15, 16],
        "links": 12,
        "state": "not known",
        "taken_by": [],
    }
    assert document["service_vm"]["at_start"] == ["0000:03:00.0", "0000:04:00.0"]


def test_modules_that_the_driver_told_are_remembered(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = _host(tmp_path)
    gpu = {"location": "0000:04:00.0", "id": A100, "module": 1, "mig": False, "boot_id": None}
    none = gpu | {"location": "0000:03:00.0", "module": None}
    kept = {"gpus": [none, gpu], "confidential": None}
    tree.put("var/lib/pcietune/nvidia.json", json.dumps(kept))
    run = pcietune("guest", "nvswitch", "--from", tree.root)

    assert "   1  0000:04:00.0" in run.stdout.splitlines()
    assert "0000:03:00.0" not in run.stdout.split("A service VM", maxsplit=1)[0]


def test_where_all_modules_are_known_nothing_is_to_be_learned(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = TreeHost(tmp_path / "host")
    for number in range(1, 9):
        config = ConfigBuilder(A100, 0x030200).express(ENDPOINT)
        tree.add(Function(f"0000:{number:02x}:00.0", config))
    tree.add(nvswitch("0000:10:00.0"))
    modules = tmp_path / "modules.yaml"
    modules.write_text("".join(f"'0000:{n:02x}:00.0': {9 - n}\n" for n in range(1, 9)))
    run = pcietune("guest", "nvswitch", "--from", tree.root, "--modules", modules)

    assert "   8  0000:01:00.0" in run.stdout.splitlines()
    assert "no address tells it" not in run.stdout


def test_a_board_is_listed_by_its_name_on_any_machine(pcietune: Pcietune) -> None:
    run = pcietune("guest", "nvswitch", "--board", "blackwell", "--json")
    document = json.loads(run.stdout)

    assert (document["title"], document["service_vm"]) == ("HGX B200 or B300", None)
    assert [each["id"] for each in document["partitions"]] == list(range(1, 16))
    assert "ids begin at 1" in document["notes"][1]["text"]


def test_a_board_called_by_its_gpu_is_told_its_name(pcietune: Pcietune) -> None:
    for typed, named in (("h200", "hopper"), ("B300", "blackwell"), ("a800-16", "one of a100")):
        run = pcietune("guest", "nvswitch", "--board", typed)

        assert run.exit_code == ExitCode.BAD_INPUT
        assert f"try: {named}" in run.stderr


def test_nothing_is_called_free_where_nobody_told_what_is_active(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    listed = pcietune("guest", "nvswitch", "--board", "a800").stdout
    handled = json.loads(pcietune("guest", "nvswitch", _plan(tmp_path), "--json").stdout)

    assert " free " not in listed
    assert handled["deactivate_first"] is None


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["PLAN", "--board", "hopper"], "a plan names its own", "leave them out"),
        (["PLAN", "--hostname", "h", "--unix-domain-socket", "/s"], "not both", "leave"),
        (["PLAN", "--hostname", ""], "'': no address", "192.0.2.7"),
        (["PLAN", "--hostname", "h\nFABRIC_MODE=0"], "no address or name", "192.0.2.7"),
        (["PLAN", "--unix-domain-socket", "fm.sock"], "no absolute path", "/run/"),
        (["PLAN", "--active", "2"], "no partition 2 on this board", "1, 7, 8, 11"),
        (["L20"], "the plan knows of no NVSwitches", "without a plan"),
        (["--board", "gb200"], "'gb200': no board", "a100, a100-top"),
        (["--board", "hopper", "--active", "15"], "no partition 15", "13, 14"),
        (["--board", "hopper", "--from", "HOST"], "--board names a board", "leave --board out"),
        (["--from", "HOST"], "no NVSwitches that pcietune knows", "--board"),
        (["PLAN", "--fmpm", "L20"], "no list of partitions", "fmpm -l"),
        (["PLAN", "--fmpm", "nowhere"], "nowhere: No such file", "fmpm -l"),
        (["PLAN", "--fmpm", "L20", "--active", "1"], "tells it again", "leave one of them out"),
        (["nowhere.json"], "nowhere.json", "guest plan"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_do(
    pcietune: Pcietune, tmp_path: Path, arguments: list[str], said: str, hint: str
) -> None:
    l20 = tmp_path / "l20.json"
    l20.write_text(plan_text(l20_one_gpu_and_a_vf()))
    named: dict[str, str | Path] = {"PLAN": _plan(tmp_path), "L20": l20}
    if "HOST" in arguments:
        named["HOST"] = one_switch(tmp_path / "host").root

    run = pcietune("guest", "nvswitch", *(named.get(each, each) for each in arguments))

    assert run.exit_code == ExitCode.BAD_INPUT
    assert said in run.stderr
    assert hint in run.stderr.partition("try: ")[2]
    assert run.stdout == ""
