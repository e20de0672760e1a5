"""From a recorded host to the arguments with which libvirt starts a VM on it."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from guest.libvirt.virsh import Virsh, validate, without_kvm

from pcietune.guest.plan_text import parse_plan

A800 = Path(__file__).parents[3] / "pcietune/recorded_hosts/a800-sxm4-8gpu.tar.gz"


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_libvirt_starts_what_was_planned_for_a_recorded_host(
    gpus: int, virsh: Virsh, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pcietune, mended, file = Pcietune(capsys), tmp_path / "mended.tar.gz", tmp_path / "vm0.json"
    pcietune("apply", "--mode", "vm", "--from", A800, "--to", mended)
    planned = pcietune(
        *("guest", "plan", "--mode", "vm", "--from", mended, "--gpus", str(gpus)),
        *("--cpus", str(1 + gpus // 8), "--memory", "512M", "-o", file),  # one for each node
    )
    assert planned.exit_code == 0, planned.stderr

    xml = pcietune("guest", "libvirt", file).stdout

    validate(xml, tmp_path)
    native = virsh.native(without_kvm(xml))
    plan = parse_plan(file.read_text(), "vm0.json")
    assert len([each for each in plan.functions if each.name.startswith("gpu")]) == gpus
    for function in plan.functions:
        device = native.device(f"ua-{function.name}")
        assert (device["host"], device["bus"]) == (function.address, f"ua-{function.parent}")
