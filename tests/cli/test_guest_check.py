"""``pcietune guest check`` as its users run it, in a VM or on a recording made there."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.as_process import finish, python, start
from cli.in_process import Pcietune
from guest.check.vm import Vm, vm_of
from guest.plans import a800_two_gpus
from trees.config import ConfigBuilder
from trees.dump import dump
from trees.function import root_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.guest.check.document import CheckDocument
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import plan_text

PLAN = a800_two_gpus()
GPU = "0000:23:00.0"


def _plan(folder: Path, plan: Plan = PLAN) -> Path:
    path = folder / "vm0.json"
    path.write_text(plan_text(plan))
    return path


def _vm(folder: Path, vm: Vm) -> Path:
    vm.write(folder / "vm")
    return folder / "vm"


def test_a_vm_as_planned_exits_0_and_says_so_first(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "check", _plan(tmp_path), "--from", _vm(tmp_path, vm_of(PLAN)))

    assert (run.exit_code, run.stderr) == (0, "")
    assert run.stdout.splitlines()[0].startswith("pass  vm0 is as planned: ")
    assert "pass  gpu0, gpu1: address, id, class, ports above, BARs, NUMA node, link" in run.stdout


def test_what_no_vm_shows_is_not_claimed(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("guest", "check", _plan(tmp_path), "--from", _vm(tmp_path, vm_of(PLAN)))

    assert "note  of one id, and not told apart here: gpu0, gpu1; nic0, nic1; " in run.stdout
    assert "DirectTrans cannot be seen from here: pcietune audit on the host" in run.stdout


def test_a_difference_exits_3_and_is_named_before_all_that_passes(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    source = _vm(tmp_path, vm_of(PLAN).showing(GPU, numa_node="-1"))
    run = pcietune("guest", "check", _plan(tmp_path), "--from", source)

    assert run.exit_code == 3
    head, first, cause = run.stdout.splitlines()[:3]
    assert head.startswith("NOT as planned: vm0: 1 of ")
    assert first == "  gpu0: NUMA node none (-1), planned 0"
    assert cause.startswith("  -> expander pxb0 above it tells no node")


def test_a_document_tells_the_same(pcietune: Pcietune, tmp_path: Path) -> None:
    source = _vm(tmp_path, vm_of(PLAN).without(GPU))
    run = pcietune("guest", "check", _plan(tmp_path), "--json", "--from", source)

    document = msgspec.json.decode(run.stdout, type=CheckDocument)
    assert run.exit_code == document.exit == 3
    assert document.first_difference is not None
    assert document.first_difference.startswith(f"gpu0: not there, planned at {GPU}: its port dp0")
    (missing,) = (row for row in document.rows if row.verdict == "differs")
    assert (missing.subject, missing.planned, missing.found) == ("gpu0", GPU, None)
    assert (document.differs, document.not_known) == (1, 0)


def test_what_cannot_be_read_exits_6_and_is_no_pass(pcietune: Pcietune, tmp_path: Path) -> None:
    vm = vm_of(PLAN)
    vm.at(GPU).config.put(0x34, b"\x41")  # a Capabilities Pointer that nothing can stand at
    run = pcietune("guest", "check", _plan(tmp_path), "--from", _vm(tmp_path, vm))

    assert run.exit_code == 6
    assert run.stdout.startswith("not known: whether vm0 is as planned")
    assert f"{GPU}: the Capability list is broken" in run.stderr


def test_both_a_difference_and_what_is_not_known_are_told(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    vm = vm_of(PLAN).showing(GPU, resource="cut").without("0000:24:00.0")
    run = pcietune("guest", "check", _plan(tmp_path), "--from", _vm(tmp_path, vm))

    assert run.exit_code == 3
    lines = run.stdout.splitlines()
    assert lines[0].endswith("differ, 1 not known")
    assert "  gpu0: BARs not known, planned 128 GiB + 32 MiB + 16 MiB" in lines
    assert lines.index("not known:") > lines.index("  gpu1: not there, planned at 0000:24:00.0")


def test_the_host_of_the_plan_is_told_from_the_vm(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path / "host")  # 20:01.0, 21:00.0, then 22:00.0 with the GPU
    path = "0000:20:01.0/00.0/00.0/00.0"
    given = msgspec.structs.replace(PLAN.functions[0], path=path)
    plan = msgspec.structs.replace(PLAN, functions=[given])
    run = pcietune("guest", "check", _plan(tmp_path, plan), "--from", tmp_path / "host")

    assert run.exit_code == 4
    assert "this is the host of vm0, not the VM" in run.stderr
    assert "take the plan into the VM" in run.stderr


def test_another_host_is_just_not_as_planned(pcietune: Pcietune, tmp_path: Path) -> None:
    TreeHost(tmp_path / "bare")
    run = pcietune("guest", "check", _plan(tmp_path), "--from", tmp_path / "bare")

    assert run.exit_code == 3
    assert "nothing of the plan is here" in run.stdout


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 99}'])
def test_what_is_no_plan_exits_4(pcietune: Pcietune, tmp_path: Path, text: str) -> None:
    (tmp_path / "vm0.json").write_text(text)
    run = pcietune("guest", "check", tmp_path / "vm0.json")

    assert run.exit_code == 4


def test_a_vm_that_was_started_with_other_memory_is_as_planned_if_that_is_said(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    cells = [msgspec.structs.replace(PLAN.cells[0], memory_mib=2048)]
    started = vm_of(msgspec.structs.replace(PLAN, cells=cells))
    asked = ("guest", "check", _plan(tmp_path), "--from", _vm(tmp_path, started))

    assert pcietune(*asked).exit_code == 3
    assert pcietune(*asked, "--memory", "2G").exit_code == 0


def test_a_machine_that_is_no_vm_of_the_plan_is_looked_at_without_a_source(tmp_path: Path) -> None:
    code, stdout, _ = finish(start("guest", "check", _plan(tmp_path)))

    assert code in {3, 5, 6}
    assert "pass  vm0 is as planned" not in stdout


def test_the_check_imports_nothing_that_a_small_vm_would_wait_for() -> None:
    loaded = python(
        "import sys, pcietune.guest.check.check, pcietune.guest.check.told\n"
        "print({'yaml', 'pyudev', 'jinja2'} & set(sys.modules))"
    )

    assert loaded.strip() == "set()"


def test_a_topology_file_is_compared_too(pcietune: Pcietune, tmp_path: Path) -> None:
    source = _vm(tmp_path, vm_of(PLAN))
    (tmp_path / "topology.xml").write_text('<system version="1"></system>\n')
    asked = ("guest", "check", _plan(tmp_path), "--from", source, "--topology")
    run = pcietune(*asked, tmp_path / "topology.xml")

    assert run.exit_code == 3
    assert "topology.xml: line 1: " in run.stdout
    assert pcietune(*asked, tmp_path / "none.xml").exit_code == 4


def test_a_topology_files_name_that_is_not_utf8_is_escaped_in_the_document(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.xml"))
    file.write_text('<system version="1"></system>\n')
    source = _vm(tmp_path, vm_of(PLAN))
    asked = ("guest", "check", _plan(tmp_path), "--from", source, "--topology")

    run = pcietune(*asked, file, "--json")

    assert run.exit_code == 3
    document = msgspec.json.decode(run.stdout, type=CheckDocument)
    assert f"{tmp_path}/bad\\udcff.xml" in {row.subject for row in document.rows}


def test_a_topology_file_that_the_environment_names_in_vain_differs(tmp_path: Path) -> None:
    process = start(
        "guest", "check", _plan(tmp_path), environment={"NCCL_TOPO_FILE": str(tmp_path / "none")}
    )
    code, stdout, _ = finish(process)

    assert code in {3, 5}
    assert "named by NCCL_TOPO_FILE, and No such file or directory" in stdout


def test_a_host_with_qemus_root_ports_is_a_host_all_the_same(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    """So are hosts inside of a VM, whose switches are no x3130."""
    path = "0000:20:01.0/00.0/00.0/00.0"
    given = msgspec.structs.replace(PLAN.functions[0], path=path)
    plan = msgspec.structs.replace(PLAN, functions=[given])
    root = replace(root_port("0000:20:01.0"), config=ConfigBuilder("1b36:000c", 0x060400))
    one_switch(tmp_path / "host", instead=[root])

    run = pcietune("guest", "check", _plan(tmp_path, plan), "--from", tmp_path / "host")
    assert run.exit_code == 4


def test_a_dump_of_the_vm_does_for_addresses_and_capabilities(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    """What lspci -D -xxxx prints tells no NUMA node and no sizes of BARs."""
    vm = vm_of(PLAN).shifted(1, first=0x26)
    (tmp_path / "vm.txt").write_text(dump(vm.functions))
    run = pcietune("guest", "check", _plan(tmp_path), "--json", "--from", tmp_path / "vm.txt")

    document = msgspec.json.decode(run.stdout, type=CheckDocument)
    told = {(row.subject, row.aspect): row.verdict for row in document.rows}
    assert run.exit_code == 3
    assert told["nic1", "address"] == "differs"
    assert {told["nic1", each] for each in ("id", "ports above", "link", "ATS capability")} == {
        "pass"
    }
    assert {told["nic1", each] for each in ("BARs", "NUMA node")} == {"not known"}


def test_a_function_of_which_nothing_is_told_keeps_the_vm_from_passing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    source = _vm(tmp_path, vm_of(PLAN))
    (source / "sys/bus/pci/devices/0000:00:01.0/uevent").write_text("PCI_CLASS=nonsense\n")
    run = pcietune("guest", "check", _plan(tmp_path), "--from", source)

    assert run.exit_code == 6
    assert "37 compared, functions not seen: 1" in run.stdout
    assert "note  " in run.stdout
    assert "0000:00:01.0" in run.stdout
