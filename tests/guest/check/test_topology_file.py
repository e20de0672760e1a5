"""NCCL's file against the VM it is in; files written by hand, by NCCL's src/graph/xml.cc."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from guest import plans
from guest.check.seen import checked
from guest.check.vm import Node, vm_of

from pcietune.guest.check.check import check
from pcietune.guest.check.checked import Checked
from pcietune.guest.check.row import Aspect, Verdict
from pcietune.guest.check.topology_file import TopologyFile
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost

PLAN = plans.l20_one_gpu_and_a_vf()
GOOD = """<system version="1">
<cpu numaid="0" affinity="000000ff" arch="x86_64">
<pci busid="0000:21:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:23:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
</pci>
<pci busid="0000:24:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
</pci>
</pci>
</cpu>
</system>
"""


def _checked(text: str | None, root: Path, problem: str = "") -> Checked:
    vm_of(PLAN).write(root)
    file = TopologyFile("/etc/t.xml", "NCCL_TOPO_FILE", text, problem)
    return check(PLAN, SysfsHost(HostFiles(root, recorded=True)), file)


def _said(result: Checked) -> list[str | None]:
    rows = [row for row in result.rows if row.aspect is Aspect.TOPOLOGY]
    return [row.found for row in rows if row.verdict is Verdict.DIFFERS]


def test_a_file_that_is_so_passes(tmp_path: Path) -> None:
    result = _checked(GOOD, tmp_path)

    (row,) = (row for row in result.rows if row.aspect is Aspect.TOPOLOGY)
    assert (row.verdict, row.found) == (Verdict.PASS, "named by NCCL_TOPO_FILE")
    assert result.of(Verdict.DIFFERS) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0000:23:00.0", "0000:4f:00.0", "line 4: 0000:4f:00.0, a gpu, is no function of this VM"),
        ("0x030200", "0x020700", "line 4: 0000:23:00.0 is a gpu in this VM, and a nic in the file"),
        ("0x020700", "0x060400", "line 6: 0000:24:00.0 is a nic in this VM, and a bridge in the"),
        ("000000ff", "0000ff00", "affinity"),
        ('numaid="0"', 'numaid="1"', "numaid 1"),
        ('"0000:24:00.0"', '"0000:30:00.0"', "nic0 at 0000:24:00.0 is not in the file"),
        ('<system version="1">', '<?xml version="1.0"?>\n<system version="1">', "line 1: "),
        ("</system>", "", "not closed"),
    ],
)
def test_what_is_not_so_is_told_by_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    found = _said(_checked(GOOD.replace(old, new), tmp_path))

    assert any(each is not None and said in each for each in found), found


def test_a_file_of_a_vm_with_amds_gpus_is_held_to_rccls_rules(tmp_path: Path) -> None:
    functions = [
        msgspec.structs.replace(each, id="1002:74a1") if each.name == "gpu0" else each
        for each in PLAN.functions
    ]
    plan = msgspec.structs.replace(PLAN, functions=functions)
    vm_of(plan).write(tmp_path)
    host = SysfsHost(HostFiles(tmp_path, recorded=True))

    def said(text: str) -> list[str | None]:
        return _said(check(plan, host, TopologyFile("/etc/t.xml", "NCCL_TOPO_FILE", text)))

    assert said(GOOD.replace('version="1"', 'version="2"')) == []
    assert any(each is not None and "RCCL reads 2 only" in each for each in said(GOOD))


def test_a_file_that_is_named_and_not_there_differs(tmp_path: Path) -> None:
    result = _checked(None, tmp_path, "No such file or directory")

    (row,) = result.of(Verdict.DIFFERS)
    assert row.found == "named by NCCL_TOPO_FILE, and No such file or directory"
    assert "NCCL_DEBUG=INFO only" in row.why


def test_a_file_is_held_to_the_vm_and_not_to_addresses_that_did_not_come_true(
    tmp_path: Path,
) -> None:
    vm = vm_of(PLAN).shifted(1, first=0x23)
    vm.write(tmp_path)
    shifted = GOOD.replace("0000:24:", "0000:25:").replace("0000:23:", "0000:24:")
    host = SysfsHost(HostFiles(tmp_path, recorded=True))
    right = check(PLAN, host, TopologyFile("t.xml", "--topology", shifted))
    wrong = check(PLAN, host, TopologyFile("t.xml", "--topology", GOOD))

    assert _said(right) == []
    assert any("is not in the file" in str(each) for each in _said(wrong))


def test_masks_are_held_to_the_cpus_that_the_vm_has(tmp_path: Path) -> None:
    fewer = replace(vm_of(PLAN), nodes={0: Node("0-3", 63 << 20)})
    fewer.write(tmp_path)
    host = SysfsHost(HostFiles(tmp_path, recorded=True))
    result = check(PLAN, host, TopologyFile("t.xml", "--topology", GOOD))

    assert any("0000000f" in row.why for row in result.rows if row.aspect is Aspect.TOPOLOGY)


def test_without_a_file_a_live_vm_is_told_what_nccl_makes_of_its_switches(tmp_path: Path) -> None:
    vm_of(PLAN).write(tmp_path)
    live = check(PLAN, SysfsHost(HostFiles(tmp_path, recorded=False)))
    recorded = checked(PLAN, vm_of(PLAN), tmp_path / "recorded")

    assert any(note.startswith("NCCL is named no topology file") for note in live.notes)
    assert not any("topology" in note for note in recorded.notes)
    flat = plans.two_gpus_on_ports()
    vm_of(flat).write(tmp_path / "flat")
    without = check(flat, SysfsHost(HostFiles(tmp_path / "flat", recorded=False)))
    assert not any("topology" in note for note in without.notes)
