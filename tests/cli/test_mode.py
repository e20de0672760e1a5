"""``pcietune mode``: the steps on the terminal and as JSON."""

import json
from pathlib import Path

from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions
from trees.fabrics import two_switches
from trees.machines import one_switch

GPU_RDMA = ("--profile", "gpu-rdma")
SECOND = "0000:40:01.0/00.0"


def test_each_open_step_says_what_is_open_after_it(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)

    run = pcietune("mode", "vm", *GPU_RDMA, "--from", host.root)

    assert run.exit_code == 3
    steps = [line for line in run.stdout.splitlines() if line.startswith("open")]
    told = [line for line in run.stdout.splitlines() if line.startswith("      after it: ")]
    assert len(steps) == len(told)
    assert told[0] == "      after it: 1 still open: port.nic-side.DirectTrans x1"
    assert told[-1] == "      after it: nothing is open"


def test_the_document_has_every_command_and_what_each_step_ends(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)

    run = pcietune("mode", "vm", *GPU_RDMA, "--from", host.root, "--json")

    document = json.loads(run.stdout)
    registers = next(step for step in document["steps"] if step["kind"] == "registers")
    assert (document["mode"], document["groups"], document["done"]) == ("vm", [], False)
    assert registers["commands"] == ["pcietune apply --mode vm"]
    assert registers["settles"] == [
        {"id": "port.nic-side.DirectTrans", "path": "0000:20:01.0/00.0/04.0"}
    ]
    assert registers["open_after"] == {}


def test_one_switch_group_may_change_alone(pcietune: Pcietune, tmp_path: Path) -> None:
    host = two_switches(tmp_path)
    host.put("etc/pcietune/pcietune.yaml", "mode: vm")

    run = pcietune("mode", "baremetal", "--group", SECOND, *GPU_RDMA, "--from", host.root, "--json")

    document = json.loads(run.stdout)
    paths = {settled["path"] for step in document["steps"] for settled in step["settles"]}
    assert document["groups"] == [SECOND]
    assert paths
    assert not any(path.startswith("0000:20") for path in paths)


def test_one_group_may_not_decide_for_the_others(pcietune: Pcietune, tmp_path: Path) -> None:
    host = two_switches(tmp_path)

    run = pcietune("mode", "baremetal", "--group", SECOND, *GPU_RDMA, "--from", host.root)

    assert run.exit_code == 4
    assert "no mode is set for the rest of the host" in run.stderr


def test_of_a_dump_no_driver_is_unbound_that_nobody_knows(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    file = tmp_path / "dump.txt"
    file.write_text(dump(one_switch_functions()))

    run = pcietune("mode", "vm", *GPU_RDMA, "--from", file)

    assert run.exit_code == 3
    assert "/driver" not in run.stdout
    assert "after it: nothing is open, besides what could not be read" in run.stdout


def test_a_group_that_is_not_here_is_bad_input_that_names_those_that_are(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = two_switches(tmp_path)

    run = pcietune("mode", "vm", "--group", "0000:01:00.0", *GPU_RDMA, "--from", host.root)

    assert run.exit_code == 4
    assert SECOND in run.stderr


def test_nothing_is_changed(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    before = {p: p.read_bytes() for p in host.root.rglob("*") if p.is_file()}

    pcietune("mode", "vm", *GPU_RDMA, "--from", host.root)

    assert {p: p.read_bytes() for p in host.root.rglob("*") if p.is_file()} == before
