"""``pcietune guest plan``: what it makes of hosts, what it prints and writes, how it exits."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from guest.stock.stocked import FAR_GPU, FAR_NIC, GPU, NIC, OTHER_NIC, add_vfs, as_wanted
from trees.dump import dump, one_switch_functions
from trees.fabrics import two_switches
from trees.host import TreeHost
from trees.nodes import add_node
from tune.faults import set_word

from pcietune.guest.kinds import Backend, Kind, NvSwitchModel
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recording import record
from pcietune.host.sysfs import SysfsHost

VM = ("--mode", "vm", "--profile", "gpu-rdma")
NIC_PORT = "0000:22:04.0"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return two switches on one node, as gpu-rdma wants them, with nothing in use."""
    host = as_wanted(two_switches(tmp_path / "host"))
    add_node(host, 0, cpus="0-15", memory_kib=256 << 20)
    return host


def plan(pcietune: Pcietune, tree: TreeHost, *options: str | Path) -> Plan:
    run = pcietune("guest", "plan", *VM, "--from", tree.root, "--json", *options)
    assert (run.exit_code, run.stderr) == (0, "")
    return parse_plan(run.stdout, "it")


def refused(pcietune: Pcietune, tree: TreeHost, *options: str | Path) -> Run:
    run = pcietune("guest", "plan", *VM, "--from", tree.root, *options)
    assert run.exit_code == 4
    assert run.stdout == ""
    return run


def given(made: Plan, kind: Kind) -> list[str]:
    return [each.address for each in made.functions if each.kind is kind]


def test_a_gpu_comes_with_its_nics_below_one_switch(pcietune: Pcietune, tree: TreeHost) -> None:
    made = plan(pcietune, tree, "--gpus", "1")

    assert given(made, Kind.GPU) == [GPU]
    assert given(made, Kind.NIC) == [NIC, OTHER_NIC]
    assert len([bridge for bridge in made.bridges if bridge.stands_for]) == 1


def test_equal_hosts_give_equal_plans(pcietune: Pcietune, tree: TreeHost) -> None:
    arguments = ("guest", "plan", *VM, "--gpus", "2", "--json", "--from", tree.root)

    assert pcietune(*arguments).stdout == pcietune(*arguments).stdout


def test_a_recording_gives_the_plan_of_its_host(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    archive = tmp_path / "host.tar"
    record(SysfsHost(HostFiles(tree.root, recorded=False)), archive)

    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--json", "--from", archive)

    assert parse_plan(run.stdout, "it").functions == plan(pcietune, tree, "--gpus", "1").functions


def test_cpus_and_memory_are_the_share_of_its_gpus(pcietune: Pcietune, tree: TreeHost) -> None:
    (cell,) = plan(pcietune, tree, "--gpus", "1").cells

    assert len(cell.host_cpus) == 8
    assert cell.memory_mib <= 128 << 10


def test_a_second_vm_gets_what_the_first_has_not(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    first = tmp_path / "vm0.json"
    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", first)
    second = plan(pcietune, tree, "--gpus", "1", "--taken", first)

    assert run.exit_code == 0
    assert given(second, Kind.GPU) == [FAR_GPU]
    assert second.machine.name == "vm1"
    earlier = parse_plan(first.read_text(), "it")
    assert not {cpu for cell in earlier.cells for cpu in cell.host_cpus} & {
        cpu for cell in second.cells for cpu in cell.host_cpus
    }


def test_a_plan_that_is_named_twice_is_taken_once(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    first, copy = tmp_path / "vm0.json", tmp_path / "copy.json"
    pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", first)
    copy.write_text(first.read_text())
    once = ("--gpus", "1", "--name", "vm1", "--taken", first)

    assert plan(pcietune, tree, *once, "--taken", copy) == plan(pcietune, tree, *once)


def test_plans_of_two_vms_that_have_one_function_are_refused(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    files: list[str | Path] = []
    for name in ("web", "db"):
        file = tmp_path / name
        options = ("--name", name, "--gpus", "1", "--from", tree.root, "-o", file)
        pcietune("guest", "plan", *VM, *options)
        files += ["--taken", file]

    run = refused(pcietune, tree, "--gpus", "1", *files)

    assert f"{GPU} is in the plans of two VMs: web and db" in run.stderr


def test_a_third_vm_is_refused_with_who_has_the_gpus(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    files: list[str | Path] = []
    for name in ("vm0.json", "vm1.json"):
        file = tmp_path / name
        pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", file, *files)
        files += ["--taken", file]

    run = refused(pcietune, tree, "--gpus", "1", *files)

    assert f"the host can give no GPU: {GPU}: the planned VM vm0 has it" in run.stderr


def test_more_gpus_than_the_host_has_are_refused_with_how_many_it_has(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    run = refused(pcietune, tree, "--gpus", "3")

    assert "try: the nearest number that it can give: --gpus 2" in run.stderr


def test_gpus_whose_nics_fail_the_audit_are_refused_with_why(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-

    run = refused(pcietune, tree, "--function", GPU)

    assert f"{NIC}: port.nic-side.DirectTrans of {NIC_PORT} is not as wanted" in run.stderr
    assert "--allow-failing" in run.stderr


def test_what_fails_is_given_on_request_with_a_warning(pcietune: Pcietune, tree: TreeHost) -> None:
    set_word(tree, NIC_PORT, 0x001D)

    made = plan(pcietune, tree, "--function", GPU, "--allow-failing")

    assert any(each.startswith(f"{NIC} is given though its audit") for each in made.warnings)


def test_a_vf_is_given_where_it_is_named(pcietune: Pcietune, tree: TreeHost) -> None:
    add_vfs(tree, NIC, NIC_PORT, 2)

    made = plan(pcietune, tree, "--function", GPU, "--function", "0000:24:00.2")

    (nic,) = (each for each in made.functions if each.kind is Kind.NIC)
    assert (nic.address, nic.physical_function) == ("0000:24:00.2", NIC)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "a number of GPUs, or the functions"),
        (("--gpus", "1", "--function", GPU), "both a number of GPUs and functions"),
        (("--gpus", "1", "--confidential", "on"), "confidential computing is on"),
        (("--gpus", "1", "--mig", "on"), "MIG is on"),
        (("--gpus", "1", "--memory", "lots"), "'lots': no amount of memory"),
        (("--gpus", "1", "--memory", "4T"), "memory"),
        (("--gpus", "1", "--hugepages", "3M"), "'3M': no size of hugepages"),
        (("--gpus", "1", "--qemu", "6.2"), "'6.2': no version of QEMU"),
        (("--gpus", "1", "--iommufd"), "QEMU 7.2 knows no iommufd"),
        (("--gpus", "1", "--name", "a b"), "'a b' cannot be a VM's name"),
        (("--gpus", "1", "--clique"), "a clique is of two NVIDIA GPUs or more"),
        (("--gpus", "2", "--clique"), "QEMU 7.2 has no place for a clique"),
        (("--gpus", "1", "--nvswitch", "full"), "no board with NVSwitches"),
        (("--function", "0000:ff:00.0"), "0000:ff:00.0 is none of the GPUs"),
        (("--gpus", "1", "--nics", "5"), "5 NICs, and the host can give 4"),
    ],
)
def test_what_cannot_be_had_is_refused(
    pcietune: Pcietune, tree: TreeHost, options: tuple[str, ...], said: str
) -> None:
    run = refused(pcietune, tree, *options)

    assert said in run.stderr
    assert "try: " in run.stderr


def test_a_plan_of_an_older_layout_is_not_taken(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    old = tmp_path / "old.json"
    old.write_text('{"schema": 0}')

    run = refused(pcietune, tree, "--gpus", "1", "--taken", old)

    assert f"{old}: a plan of layout 0, and this pcietune knows layout 1" in run.stderr


def test_of_a_dump_nothing_is_given_since_it_does_not_tell_enough(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    text = tmp_path / "dump"
    text.write_text(dump(one_switch_functions()))

    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--from", text)

    assert run.exit_code == 4
    assert f"the host can give no GPU: {GPU}: its IOMMU group is not known" in run.stderr


def test_a_name_that_another_plan_has_is_refused(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    first = tmp_path / "vm0.json"
    pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", first)

    run = refused(pcietune, tree, "--gpus", "1", "--taken", first, "--name", "vm0")

    assert "vm0 is the name of another plan's VM" in run.stderr
    assert "try: --name vm1" in run.stderr


def test_without_a_mode_nothing_is_guessed(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("guest", "plan", "--profile", "gpu-rdma", "--gpus", "1", "--from", tree.root)

    assert run.exit_code == 4
    assert "no mode is set" in run.stderr


def test_a_host_that_serves_itself_gives_nothing(pcietune: Pcietune, tree: TreeHost) -> None:
    baremetal = ("--mode", "baremetal", "--profile", "gpu-rdma", "--from", tree.root)

    run = pcietune("guest", "plan", "--gpus", "1", *baremetal)

    assert run.exit_code == 4
    assert "its duty is baremetal" in run.stderr
    assert "more by --mode vm, or for good by pcietune mode vm" in run.stderr


def test_gpus_that_no_profile_describes_exit_9(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = two_switches(tmp_path)

    run = pcietune("guest", "plan", "--mode", "vm", "--gpus", "1", "--from", tree.root,
                   "--profile", "l20")  # fmt: skip

    assert run.exit_code == 9


def test_a_host_without_gpus_is_told_so(pcietune: Pcietune, tmp_path: Path) -> None:
    TreeHost(tmp_path)

    run = pcietune("guest", "plan", "--mode", "vm", "--gpus", "1", "--from", tmp_path)

    assert run.exit_code == 4
    assert "no GPU on this host" in run.stderr


def test_options_of_the_vm_are_in_its_plan(pcietune: Pcietune, tree: TreeHost) -> None:
    options = ("--qemu", "9.1.2", "--iommufd", "--clique", "--nvswitch", "none")

    made = plan(pcietune, tree, "--gpus", "2", *options)

    assert (made.machine.qemu, made.machine.backend) == ("9.1", Backend.IOMMUFD)
    assert made.nvswitch.model is NvSwitchModel.NONE
    assert {each.clique for each in made.functions if each.kind is Kind.GPU} == {0}
    assert any(each.startswith("clique 0 tells NVIDIA's driver") for each in made.warnings)
    assert any(each.startswith("iommufd of 6.12 maps no BARs") for each in made.warnings)


def test_modules_by_hand_are_in_the_plan(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    modules = tmp_path / "modules.yaml"
    modules.write_text(f"{GPU}: 3\n{FAR_GPU}: 4\n")

    made = plan(pcietune, tree, "--gpus", "2", "--modules", modules)

    assert made.nvswitch.modules == {"gpu0": 3, "gpu1": 4}


def test_whether_mig_is_on_is_asked_for(pcietune: Pcietune, tree: TreeHost) -> None:
    unknown = plan(pcietune, tree, "--gpus", "1").warnings
    said = plan(pcietune, tree, "--gpus", "1", "--mig", "off").warnings

    assert any("--mig off" in warning for warning in unknown)
    assert not any("MIG" in warning for warning in said)


def test_people_see_where_each_function_will_be_and_why(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    file = tmp_path / "vm0.json"

    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", file)

    lines = run.stdout.splitlines()
    assert lines[0].startswith("vm0: 1 GPU, 2 NICs of Example Systems GPU Server 8")
    made = parse_plan(file.read_text(), "it")
    for each in made.functions:
        (line,) = (line for line in lines if line.lstrip().startswith(f"{each.name}  "))
        assert each.guest_address in line
        assert f"the host's {each.address}" in line
    assert lines[-1].startswith(f"wrote {file}; next: pcietune guest qemu {file}")
    assert FAR_NIC not in run.stdout


def test_what_a_cell_has_is_told(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--memory", "2G", "--from", tree.root)

    assert "8 vCPUs, 2 GiB, of the host's node 0 on CPUs 8-15" in run.stdout


def test_the_plan_goes_to_standard_output_for_a_dash(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("guest", "plan", *VM, "--gpus", "1", "--from", tree.root, "-o", "-")

    assert parse_plan(run.stdout, "it") == plan(pcietune, tree, "--gpus", "1")


def test_a_place_where_no_file_can_be_is_refused_before_the_host_is_read(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    run = refused(pcietune, tree, "--gpus", "1", "-o", tmp_path / "no" / "vm0.json")

    assert "cannot be a file" in run.stderr
