"""``pcietune guest nccl``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from guest.nccl.reader import read
from guest.plans import a800_two_gpus, l20_one_gpu_and_a_vf

from pcietune.guest.plan_text import plan_text


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "vm0.json"
    path.write_text(plan_text(a800_two_gpus()))
    return path


def test_the_file_is_all_that_stdout_gets(pcietune: Pcietune, plan: Path) -> None:
    run = pcietune("guest", "nccl", plan)

    assert run.exit_code == 0
    assert read(run.stdout).name == "system"
    assert "pcietune: the switch 0000:21:00.0: the plan does not tell" in run.stderr


def test_what_is_printed_passes_the_check(pcietune: Pcietune, plan: Path, tmp_path: Path) -> None:
    written = tmp_path / "topology.xml"
    written.write_text(pcietune("guest", "nccl", plan).stdout)

    run = pcietune("guest", "nccl", plan, "--check", written)

    assert (run.exit_code, run.stdout) == (0, f"{written}: nothing found\n")


def test_the_options_change_the_file(pcietune: Pcietune, tmp_path: Path) -> None:
    path = tmp_path / "vm0.json"
    path.write_text(plan_text(l20_one_gpu_and_a_vf()))

    run = pcietune(
        "guest", "nccl", path, "--invent", "--rccl", "--cpu", "AuthenticAMD:25:17",
        "--address", "gpu0=05:00.0",
    )  # fmt: skip

    root = read(run.stdout, "2")
    ids = [each.attributes.get("busid") for each in root.all()]
    assert ids == [None, None, "ffff:ff:01.0", "0000:05:00.0", "0000:24:00.0"]
    assert root.children[0].attributes["vendor"] == "AuthenticAMD"


@pytest.mark.parametrize(
    ("form", "begins"),
    [("shell", "export NCCL_TOPO_FILE=/t.xml"), ("conf", "NCCL_TOPO_FILE=/t.xml")],
)
def test_variables_are_printed_in_the_form_that_is_asked_for(
    pcietune: Pcietune, plan: Path, form: str, begins: str
) -> None:
    run = pcietune("guest", "nccl", plan, "--env", form, "--topo-file", "/t.xml")

    assert run.exit_code == 0
    assert run.stdout.splitlines()[1] == begins


def test_a_file_with_mistakes_exits_3_and_tells_where(pcietune: Pcietune, tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text('<system version="1">\n\t<cpu numaid="0" />\n</system>\n')

    run = pcietune("guest", "nccl", "--check", path)

    assert run.exit_code == 3
    assert run.stdout.splitlines()[0].startswith(f"{path}:2:1: error [tab]: a tab between tags")
    assert run.stdout.splitlines()[-1] == f"{path}: 1 error, 1 warning"


def test_of_many_of_a_kind_the_first_are_told_and_their_number(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    path = tmp_path / "tabs.xml"
    path.write_text('<system version="1">\n' + "\t<!-- -->\n" * 9 + "</system>\n")

    lines = pcietune("guest", "nccl", "--check", path).stdout.splitlines()

    assert sum("[tab]:" in line for line in lines) == 5
    assert lines[-2:] == [f"{path}: 4 more of [tab]", f"{path}: 9 errors, 1 warning"]


def test_the_document_tells_the_same(pcietune: Pcietune, tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text('<?xml version="1.0"?>\n<system version="1"/>\n')

    run = pcietune("guest", "nccl", "--check", path, "--json")

    document = json.loads(run.stdout)
    assert run.exit_code == 3
    assert (document["schema"], document["file"], document["library"]) == (1, str(path), "nccl")
    assert [(each["line"], each["severity"], each["rule"]) for each in document["complaints"]] == [
        (1, "error", "declaration"),
        (2, "warning", "no-cpu"),
    ]


def test_a_files_name_that_is_not_utf8_is_escaped_in_the_document(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.xml"))
    path.write_text('<system version="2"/>')

    run = pcietune("guest", "nccl", "--check", path, "--json")

    assert run.exit_code == 3
    assert json.loads(run.stdout)["file"] == f"{tmp_path}/bad\\udcff.xml"


def test_a_file_comes_from_a_pipe_too() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pcietune", "guest", "nccl", "--check", "-"],
        input='<system version="2"/>', check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert run.returncode == 3
    assert "-:1:9: error [version]: version '2': NCCL reads 1 only" in run.stdout


@pytest.mark.parametrize(
    ("gpu", "fits", "does_not"), [("10de:20f3", [], ["--rccl"]), ("1002:74a1", ["--rccl"], [])]
)
def test_a_file_for_the_library_of_other_gpus_is_told(
    pcietune: Pcietune, tmp_path: Path, gpu: str, fits: list[str], does_not: list[str]
) -> None:
    made = l20_one_gpu_and_a_vf()
    functions = [
        msgspec.structs.replace(each, id=gpu) if each.name == "gpu0" else each
        for each in made.functions
    ]
    path = tmp_path / "vm0.json"
    path.write_text(plan_text(msgspec.structs.replace(made, functions=functions)))

    assert "refuses this file" in pcietune("guest", "nccl", path, *does_not).stderr
    assert "refuses this file" not in pcietune("guest", "nccl", path, *fits).stderr


def test_where_only_some_addresses_are_given_the_others_are_told(
    pcietune: Pcietune, plan: Path
) -> None:
    arguments = ("guest", "nccl", plan, "--invent", "--address", "gpu0=05:00.0")
    some = pcietune(*arguments)
    others = [f"--address={name}=0{n}:00.0" for n, name in enumerate(("gpu1", "nic0", "nic1"), 6)]

    assert "no --address tells where gpu1, nic0, nic1 are" in some.stderr
    assert "no --address" not in pcietune(*arguments, *others).stderr
    assert "no --address" not in pcietune("guest", "nccl", plan).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no plan is named"),
        (["PLAN", "--json"], "--json tells what --check found"),
        (["PLAN", "--address", "gpu7=05:00.0"], "'gpu7': the plan has no such"),
        (["PLAN", "--cpu", "i486"], "'i486' is no CPU that NCCL tells apart"),
        (["PLAN", "--env", "conf", "--topo-file", "x"], "'x': no absolute path"),
        (["--check", "FILE", "--env", "conf"], "--check writes nothing"),
        (["PLAN", "--check", "FILE", "--invent"], "--check writes nothing"),
        (["--check", "FILE", "--cpu", "arm64"], "--check writes nothing"),
        (["--check", "FILE", "--address", "gpu0=05:00.0"], "no plan is named"),
        (["--check", "/nowhere.xml"], "/nowhere.xml: No such file or directory"),
        (["/nowhere.json"], "/nowhere.json: No such file or directory"),
    ],
)
def test_bad_input_exits_4_and_prints_no_result(
    pcietune: Pcietune, plan: Path, arguments: list[str], said: str
) -> None:
    named = [str(plan) if each == "PLAN" else each for each in arguments]

    run = pcietune("guest", "nccl", *named)

    assert (run.exit_code, run.stdout) == (4, "")
    assert said in run.stderr
