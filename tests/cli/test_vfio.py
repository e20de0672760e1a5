"""``pcietune vfio`` on recorded hosts: what is told, and how it exits."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from trees.dump import dump, one_switch_functions
from trees.function import nic, nvswitch
from trees.host import TreeHost
from trees.machines import one_switch
from tune.driver_kernel import DriverKernel
from tune.faults import set_word
from tune.judged import GPU, NIC, NIC_PORT

from pcietune.report.document import BindingDocument

VM = ("--mode", "vm", "--profile", "gpu-rdma")
BIND = "mode: vm\nvfio: {bind: [gpu, nic]}"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host that is as gpu-rdma wants it, and whose functions no driver has."""
    host = one_switch(tmp_path / "host")
    set_word(host, NIC_PORT, 0x005D)  # DirectTrans+
    DriverKernel(host)
    return host


def binding(run: Run, address: str) -> BindingDocument:
    (found,) = (b for b in run.document().bindings if b.address == address)
    return found


def files(tree: TreeHost) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in tree.root.rglob("*") if p.is_file()}


def test_show_tells_who_has_what_and_exits_0(pcietune: Pcietune, tree: TreeHost) -> None:
    DriverKernel(tree).bind(NIC, "vfio-pci")

    run = pcietune("vfio", "show", *VM, "--from", tree.root)

    assert run.exit_code == 0
    rows = [line.split() for line in run.stdout.splitlines()]
    assert [GPU, "gpu", "-", "-", "4", "ready"] in rows
    assert [NIC, "nic", "vfio-pci", "-", "5", "bound"] in rows


def test_show_tells_below_each_function_what_keeps_it_from_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-

    lines = pcietune("vfio", "show", NIC, *VM, "--from", tree.root).stdout.splitlines()

    (row,) = (number for number, line in enumerate(lines) if line.startswith(NIC))
    assert lines[row].endswith("BLOCKED")
    assert lines[row + 1].startswith(f"  -> port.nic-side.DirectTrans of {NIC_PORT}")


def test_show_says_of_what_waits_for_a_unit_that_it_waits(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    waiting = "mode: vm\nvfio: {bind: [gpu], when: 'after:nvidia-fabricmanager.service'}"
    tree.put("etc/pcietune/pcietune.yaml", waiting)
    (tree.directory(GPU) / "driver_override").write_text("vfio-pci\n")
    (tree.directory(NIC) / "driver_override").write_text("vfio-pci\n")

    run = pcietune("vfio", "show", "--profile", "gpu-rdma", "--from", tree.root, "--json")

    assert (binding(run, GPU).state, binding(run, NIC).state) == ("waiting", "half-bound")
    assert binding(run, GPU).why == ["is bound when nvidia-fabricmanager.service is up"]


def test_a_location_is_as_good_as_an_address(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "show", "0000:20:01.0/00.0/04.0/00.0", *VM, "--from", tree.root)

    assert NIC in run.stdout
    assert GPU not in run.stdout


def test_a_function_that_is_not_here_is_bad_input(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "show", "0000:99:00.0", *VM, "--from", tree.root)

    assert run.exit_code == 4
    assert "there is no function 0000:99:00.0 on this host" in run.stderr


def test_a_dry_run_prints_the_steps_writes_nothing_and_exits_3(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    before = files(tree)

    run = pcietune("vfio", "bind", GPU, "--dry-run", *VM, "--from", tree.root)

    assert run.stdout.splitlines()[-3:] == [
        "modprobe vfio-pci",
        f"echo vfio-pci > /sys/bus/pci/devices/{GPU}/driver_override",
        f"echo {GPU} > /sys/bus/pci/drivers_probe",
    ]
    assert (run.exit_code, files(tree)) == (3, before)


def test_without_an_address_the_settings_name_what_is_bound(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    options = ("--dry-run", "--profile", "gpu-rdma", "--from", tree.root, "--json")
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm")

    nothing = pcietune("vfio", "bind", *options)
    tree.put("etc/pcietune/pcietune.yaml", BIND)
    both = pcietune("vfio", "bind", *options)

    assert (nothing.exit_code, nothing.document().bindings) == (0, [])
    assert "vfio.bind names no function here" in nothing.stderr
    assert [b.address for b in both.document().bindings] == [GPU, NIC]


def test_all_are_those_that_vms_may_have_and_no_nvswitch_of_the_hosts(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.add(replace(nvswitch("0000:50:00.0"), group=9, iommu="dmar0"))
    options = ("--dry-run", "--profile", "gpu-rdma", "--from", tree.root, "--json")
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm")

    on_host = pcietune("vfio", "bind", "--all", *options).document()
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm\nvfio: {bind: [gpu], fabric: in-guest}")
    in_guest = pcietune("vfio", "bind", "--all", *options).document()

    assert [b.address for b in on_host.bindings] == [GPU, NIC]
    assert [b.address for b in in_guest.bindings] == [GPU, NIC, "0000:50:00.0"]


def test_what_vfio_has_already_exits_0(pcietune: Pcietune, tree: TreeHost) -> None:
    DriverKernel(tree).bind(GPU, "vfio-pci")

    run = pcietune("vfio", "bind", GPU, "--dry-run", *VM, "--from", tree.root, "--json")

    assert (run.exit_code, binding(run, GPU).state) == (0, "bound")


def test_the_document_tells_all_of_a_function(pcietune: Pcietune, tree: TreeHost) -> None:
    tree.put(f"sys/bus/pci/devices/{GPU}/driver_override", "vfio-pci")

    found = binding(pcietune("vfio", "show", *VM, "--from", tree.root, "--json"), GPU)

    assert (found.path, found.id, found.role) == ("0000:20:01.0/00.0/00.0/00.0", "10de:20f3", "gpu")
    assert (found.driver, found.override, found.group) == (None, "vfio-pci", 4)
    assert (found.state, found.wanted, found.not_known) == ("half-bound", False, [])


def test_what_a_recording_does_not_tell_keeps_a_function_from_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    DriverKernel(tree).bind(NIC, "mlx5_core")

    found = binding(pcietune("vfio", "show", *VM, "--from", tree.root, "--json"), NIC)

    assert found.state == "blocked"
    assert found.why == ["may be used by the host: that is not recorded"]


def test_of_a_dump_nothing_is_said_to_be_ready(pcietune: Pcietune, tmp_path: Path) -> None:
    file = tmp_path / "dump.txt"
    file.write_text(dump(one_switch_functions()))

    run = pcietune("vfio", "show", *VM, "--from", file, "--json")

    assert {b.state for b in run.document().bindings} == {"blocked"}
    assert binding(run, GPU).not_known == ["driver", "group"]


def test_a_recording_has_no_kernel_that_binds(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "bind", GPU, *VM, "--from", tree.root)

    assert run.exit_code == 4
    assert "is a recording" in run.stderr


@pytest.mark.parametrize("command", ["show", "bind", "unbind"])
def test_without_a_mode_nothing_is_guessed(
    pcietune: Pcietune, tree: TreeHost, command: str
) -> None:
    dry = () if command == "show" else ("--dry-run",)

    run = pcietune("vfio", command, GPU, *dry, "--profile", "gpu-rdma", "--from", tree.root)

    assert run.exit_code == 4
    assert "nothing would be done" not in run.stdout


def test_unbind_needs_to_be_told_what(pcietune: Pcietune, tree: TreeHost) -> None:
    run = pcietune("vfio", "unbind", "--dry-run", *VM, "--from", tree.root)

    assert run.exit_code == 4
    assert "which functions shall VFIO give back?" in run.stderr


def test_unbind_tells_what_it_would_do(pcietune: Pcietune, tree: TreeHost) -> None:
    DriverKernel(tree).bind(NIC, "vfio-pci")
    tree.put(f"sys/bus/pci/devices/{NIC}/driver_override", "vfio-pci")

    run = pcietune("vfio", "unbind", "--all", "--dry-run", *VM, "--from", tree.root)

    assert run.exit_code == 3
    assert run.stdout.splitlines()[-3:] == [
        f"echo > /sys/bus/pci/devices/{NIC}/driver_override",
        f"echo {NIC} > /sys/bus/pci/devices/{NIC}/driver/unbind",
        f"echo {NIC} > /sys/bus/pci/drivers_probe",
    ]


def test_apply_tells_what_the_gate_would_bind_on_a_recorded_host(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    tree.put("etc/pcietune/pcietune.yaml", BIND)
    options = ("--profile", "gpu-rdma", "--from", tree.root, "--to", tmp_path / "tuned.tar")

    text = pcietune("apply", *options)
    run = pcietune("apply", *options, "--json")

    assert f"vfio  ready: {GPU}, {NIC}" in text.stdout
    assert [(b.address, b.state) for b in run.document().bindings] == [
        (GPU, "ready"),
        (NIC, "ready"),
    ]
    assert run.finding("vfio.binding", GPU).state == "pending"
    assert run.finding("vfio.binding", GPU).reason == (
        "it is idle, and bound by the next pcietune apply"
    )


def test_apply_says_nothing_of_vfio_where_nothing_is_to_be_bound(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    run = pcietune("apply", *VM, "--from", tree.root, "--to", tmp_path / "tuned.tar", "--json")

    assert run.document().bindings == []
    assert not any(f.id == "vfio.binding" for f in run.document().findings)


@pytest.mark.parametrize(
    ("driver", "state", "reason"),
    [
        ("vfio-pci", "pass", ""),
        ("mlx5_vfio_pci", "pass", ""),
        (
            "mlx5_core",
            "fail",
            (
                "mlx5_core has it, and apply takes no function from a driver; if the host itself "
                "uses it, it belongs under protect in the settings"
            ),
        ),
    ],
)
def test_the_audit_judges_what_is_to_be_bound(
    pcietune: Pcietune, tree: TreeHost, driver: str, state: str, reason: str
) -> None:
    tree.put("etc/pcietune/pcietune.yaml", BIND)
    DriverKernel(tree).bind(NIC, driver)
    uevent = tree.directory(NIC) / "uevent"
    uevent.write_text(f"DRIVER={driver}\n{uevent.read_text()}")  # as the kernel tells it

    run = pcietune("audit", "--profile", "gpu-rdma", "--from", tree.root, "--json")

    found = run.finding("vfio.binding", NIC)
    assert (found.state, found.reason, found.severity) == (state, reason, "warning")


def test_the_audit_does_not_call_ready_what_a_port_keeps_from_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put("etc/pcietune/pcietune.yaml", BIND)
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-

    run = pcietune("audit", "--profile", "gpu-rdma", "--from", tree.root, "--json")

    found = run.finding("vfio.binding", NIC)
    assert found.state == "fail"
    assert found.reason.endswith("port.nic-side.DirectTrans")
    assert run.finding("vfio.binding", GPU).state == "pending"


def test_the_audit_says_which_unit_is_waited_for(pcietune: Pcietune, tree: TreeHost) -> None:
    tree.put(
        "etc/pcietune/pcietune.yaml",
        "mode: vm\nvfio: {bind: [gpu], when: 'after:nvidia-fabricmanager.service'}",
    )

    run = pcietune("audit", "--profile", "gpu-rdma", "--from", tree.root, "--json")

    assert run.finding("vfio.binding", GPU).reason == (
        "it is idle, and bound when nvidia-fabricmanager.service is up"
    )


def test_on_bare_metal_nothing_is_to_be_bound(pcietune: Pcietune, tree: TreeHost) -> None:
    tree.put("etc/pcietune/pcietune.yaml", "mode: baremetal\nvfio: {bind: [gpu]}")

    run = pcietune("audit", "--profile", "gpu-rdma", "--from", tree.root, "--json")

    assert not any(f.id == "vfio.binding" for f in run.document().findings)


def test_where_pcietune_is_switched_off_a_dry_run_reads_all_the_same_and_says_so(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put("etc/pcietune/disabled", "")
    before = files(tree)

    run = pcietune("vfio", "bind", GPU, "--dry-run", *VM, "--from", tree.root)

    assert "disabled /etc/pcietune/disabled" in run.stdout
    assert run.stdout.splitlines()[-1] == f"echo {GPU} > /sys/bus/pci/drivers_probe"
    assert (run.exit_code, files(tree)) == (3, before)


def test_under_lockdown_apply_still_leaves_the_policy_and_what_is_right_passes_the_gate(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-, which may not be set
    tree.put("sys/kernel/security/lockdown", "none [integrity] confidentiality")
    tree.put("etc/pcietune/pcietune.yaml", BIND)

    run = pcietune("apply", "--profile", "gpu-rdma", "--from", tree.root, "--in-place", "--json")

    assert run.exit_code == 5
    assert {b.address: b.state for b in run.document().bindings} == {GPU: "ready", NIC: "blocked"}
    assert {path.name for path in (tree.root / "run/pcietune/stamps").iterdir()} == {GPU}
    assert {path.name for path in (tree.root / "run/pcietune/ids").iterdir()} == {
        "10DE:20F3",
        "15B3:101B",
    }


def test_another_rail_of_the_same_id_elsewhere_is_not_shown(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.add(replace(nic("0000:30:00.0"), group=9, iommu="dmar0"))

    assert "0000:30:00.0" not in pcietune("vfio", "show", *VM, "--from", tree.root).stdout
