"""``pcietune vfio wait-ats``: which functions it looks at, what it tells, and how it exits."""

import json
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from guest.plans import a800_two_gpus
from host.hindered import as_nobody
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC
from tune.vm_start import function, live, open_by_vfio, set_ats

from pcietune.cli.ats_at_start import keep_seen, look_at_start
from pcietune.cli.vms_functions import Named, vms_functions
from pcietune.errors import BadInputError
from pcietune.guest.plan_text import plan_text

DOMAIN = """\
<domain type='kvm'><devices>
<hostdev mode='subsystem' type='pci' managed='no'>
<source><address domain='0x0000' bus='0x24' slot='0x00' function='0x0'/></source>
</hostdev></devices></domain>
"""


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host whose GPU and NIC a VM has open, with ATS on in the NIC."""
    tree = one_switch(tmp_path / "host", driver="vfio-pci")
    open_by_vfio(tree, GPU, NIC)
    return tree


def plan_of(tree: TreeHost, **changes: str) -> str:
    plan = a800_two_gpus()
    nic = function(tree, NIC)
    passed = msgspec.structs.replace(
        plan.function("nic0"), address=NIC, path=nic.location, id=nic.id
    )
    plan.functions[:] = [msgspec.structs.replace(passed, **changes)]
    return plan_text(plan)


def test_ats_that_is_on_exits_0(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "wait-ats", GPU, NIC, "--from", tree.root)

    assert run.exit_code == 0
    assert run.stdout.splitlines() == [
        f"{GPU}: no ATS capability, so there is nothing to see",
        f"{NIC}: Enable+ (ATSCtl 0x8000)",
    ]


def test_ats_that_is_off_exits_3(pcietune: Pcietune, tree: TreeHost) -> None:
    set_ats(tree, NIC, 0x0000)

    run = pcietune("vfio", "wait-ats", NIC, "--from", tree.root)

    assert (run.exit_code, run.stdout) == (3, f"{NIC}: Enable- (ATSCtl 0x0000)\n")


def test_what_is_not_open_exits_3(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")

    run = pcietune("vfio", "wait-ats", NIC, "--from", tree.root)

    assert (run.exit_code, run.stdout) == (3, f"{NIC}: not open: no VM has it\n")


def test_what_cannot_be_read_exits_6(pcietune: Pcietune, tree: TreeHost) -> None:
    config = tree.config(NIC)
    config.write_bytes(b"\xff" * len(config.read_bytes()))

    run = pcietune("vfio", "wait-ats", GPU, NIC, "--from", tree.root)

    assert run.exit_code == 6
    assert NIC not in run.stdout
    assert NIC in run.stderr


def test_the_document_has_every_function(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "wait-ats", GPU, NIC, "--json", "--from", tree.root)

    assert json.loads(run.stdout) == {
        "schema": 1,
        "functions": [
            {
                "path": "0000:20:01.0/00.0/00.0/00.0",
                "address": GPU,
                "id": "10de:20f3",
                "result": "not_applicable",
                "ats_control": None,
                "error": None,
            },
            {
                "path": "0000:20:01.0/00.0/04.0/00.0",
                "address": NIC,
                "id": "15b3:101b",
                "result": "Enable+",
                "ats_control": "0x8000",
                "error": None,
            },
        ],
        "recorded": False,
        "errors": [],
        "exit": 0,
    }


def test_a_plan_names_the_functions(pcietune: Pcietune, tree: TreeHost, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan_of(tree))

    run = pcietune("vfio", "wait-ats", "--plan", file, "--from", tree.root)

    assert (run.exit_code, run.stdout) == (0, f"{NIC}: Enable+ (ATSCtl 0x8000)\n")


@pytest.mark.parametrize(
    ("changes", "there"),
    [({"path": "0000:99:00.0"}, "nothing"), ({"id": "15b3:1021"}, "15b3:101b")],
)
def test_a_plan_of_another_host_is_refused(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path, changes: dict[str, str], there: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan_of(tree, **changes))

    run = pcietune("vfio", "wait-ats", "--plan", file, "--from", tree.root)

    assert run.exit_code == 4
    assert f"this host has {there} there: the plan is of another host" in run.stderr


def test_libvirts_xml_names_the_functions(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    file = tmp_path / "vm.xml"
    file.write_text(DOMAIN)

    run = pcietune("vfio", "wait-ats", "--domain", file, "--from", tree.root)

    assert (run.exit_code, run.stdout) == (0, f"{NIC}: Enable+ (ATSCtl 0x8000)\n")


def test_what_is_no_xml_of_a_vm_exits_4(pcietune: Pcietune, tree: TreeHost, tmp_path: Path) -> None:
    file = tmp_path / "vm.xml"
    file.write_text("<domain>")

    run = pcietune("vfio", "wait-ats", "--domain", file, "--from", tree.root)

    assert run.exit_code == 4
    assert "no XML of a VM" in run.stderr
    assert "try: give what virsh dumpxml prints" in run.stderr


@pytest.mark.parametrize("arguments", [(), (NIC, "--plan", "/nowhere")])
def test_functions_are_named_in_just_one_way(
    pcietune: Pcietune, tree: TreeHost, arguments: tuple[str, ...]
) -> None:
    run = pcietune("vfio", "wait-ats", *arguments, "--from", tree.root)

    assert run.exit_code == 4
    assert "by one of them" in run.stderr


def test_a_function_that_is_not_here_exits_4(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "wait-ats", "0000:99:00.0", "--from", tree.root)

    assert run.exit_code == 4
    assert "there is no function 0000:99:00.0 here" in run.stderr


def test_a_location_names_a_function_too(tree: TreeHost) -> None:
    functions = live(tree).functions()

    found = vms_functions(Named(["0000:20:01.0/00.0/04.0/00.0", NIC], None, None), functions)

    assert [str(each.address) for each in found] == [NIC]


def test_what_is_no_address_is_refused(tree: TreeHost) -> None:
    with pytest.raises(BadInputError, match="is not a PCI address"):
        vms_functions(Named(["nic0"], None, None), live(tree).functions())


def test_what_is_seen_in_a_recording_does_not_go_to_this_hosts_log(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    run = pcietune("vfio", "wait-ats", NIC, "--record", "--from", tree.root)

    assert run.exit_code == 4
    assert "leave out --record or --from" in run.stderr


def test_a_live_host_is_looked_at_and_its_log_told(tree: TreeHost) -> None:
    (tree.root / "var/lib").mkdir(parents=True)
    host = live(tree)

    seen = look_at_start(host, [function(tree, NIC)], 60)
    keep_seen(host, seen, "vm0")

    line = json.loads((tree.root / "var/lib/pcietune/ats-at-start.jsonl").read_text())
    assert (line["vm"], line["address"], line["result"]) == ("vm0", NIC, "Enable+")
    assert line["boot_id"] == host.platform().boot_id


def test_others_than_root_are_told_so_at_once(pcietune: Pcietune) -> None:
    with as_nobody():
        run = pcietune("vfio", "wait-ats", "0000:00:00.0")

    assert run.exit_code == 5
    assert "only root may read ATS registers" in run.stderr
