"""Public reports on kernel command lines that did not do what they said, each with its verdict."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, gpu, root_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.document import FindingDocument
from pcietune.report.groups import GroupsDocument


def _lints(pcietune: Pcietune, host: TreeHost, cmdline: str, release: str) -> list[FindingDocument]:
    host.put("proc/cmdline", f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro {cmdline} quiet")
    host.put("proc/sys/kernel/osrelease", release)
    run = pcietune("audit", "--from", host.root, "--profile", "gpu-rdma", "--mode", "vm", "--json")
    return [f for f in run.document().findings if f.id == "kernel.cmdline"]


# linux-pci, RESEND v2 of 2025-02-06 (B09): two entries, and kernels 6.11 to 6.14.

TWO_ENTRIES = "pci=config_acs=1111011@0020:02:00.0;101xxxx@0039:00:00.0"


def test_two_entries_on_a_broken_kernel_are_warned_of(pcietune: Pcietune, tmp_path: Path) -> None:
    (finding,) = _lints(pcietune, one_switch(tmp_path), TWO_ENTRIES, "6.12.10")

    assert (finding.state, finding.severity) == ("fail", "warning")
    assert "takes only the first entry" in finding.reason


def test_on_a_fixed_kernel_an_x_drops_what_the_kernel_would_set(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    (finding,) = _lints(pcietune, one_switch(tmp_path), TWO_ENTRIES, "6.12.83")

    assert (finding.severity, finding.found.value) == ("info", "101xxxx@0039:00:00.0")
    assert finding.reason == (
        "x leaves SrcValid, ReqRedir, CmpltRedir as firmware set it, and not as the kernel would"
    )


def test_the_port_that_a_broken_kernel_passes_over_is_named(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    host.put("proc/cmdline", "ro pci=config_acs=1111011@0020:02:00.0;101xxxx@0000:22:04.0")
    host.put("proc/sys/kernel/osrelease", "6.12.10")

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    (finding,) = (f for f in run.document().findings if f.id == "port.config-acs")
    assert (finding.state, finding.severity) == ("fail", "warning")
    assert finding.subject.address == "0000:22:04.0"
    assert "kernels 6.11 to 6.14 take only the first entry" in finding.reason


# linux-rdma/rdma-core#1802 (B05): a drop-in that update-grub never saw, or a comment, asks nothing.


def test_a_file_that_never_reached_the_command_line_is_no_word_of_it(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    host.put(
        "etc/default/grub.d/config-acs.cfg", 'GRUB_CMDLINE_LINUX="pci=config_acs=1x111x1@pci:0:0"'
    )

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    found = {(f.id, f.subject.address): f.state for f in run.document().findings}
    assert "port.config-acs" not in {finding_id for finding_id, _ in found}
    assert found["port.nic-side.DirectTrans", "0000:22:04.0"] == "fail"


# linux-pci (B10): the documentation's own example names no device.


def test_flags_without_a_device_are_shown_with_one(pcietune: Pcietune, tmp_path: Path) -> None:
    (finding,) = _lints(pcietune, one_switch(tmp_path), "pci=config_acs=10x", "6.16.1")

    assert (finding.state, finding.severity, finding.found.value) == ("fail", "warning", "10x")
    assert finding.remedy
    assert "10x@pci:0:0" in finding.remedy.command


# intel/compute-runtime#942 (A22): commas in disable_acs_redir.


def test_what_stands_behind_a_comma_is_named(pcietune: Pcietune, tmp_path: Path) -> None:
    cmdline = "pci=disable_acs_redir=0000:0c:10.0,0000:0a:00.0,0000:0c:18.0"

    (finding,) = _lints(pcietune, one_switch(tmp_path), cmdline, "6.16.1")

    assert finding.found.value == "0000:0a:00.0,0000:0c:18.0"
    assert finding.reason == ("a comma ends the list of devices: what follows it is ignored")


# NVIDIA/nccl#2079 (A01): the "permanent" advice is no option of the kernel.


def test_noacs_is_no_option_of_the_kernel(pcietune: Pcietune, tmp_path: Path) -> None:
    (finding,) = _lints(pcietune, one_switch(tmp_path), "pci=noacs", "6.16.1")

    assert (finding.severity, finding.found.value) == ("warning", "pci=noacs")


# harvester/harvester#10499 (E14): both makers' IOMMUs are turned on.


def test_both_makers_iommus_are_no_harm_and_no_use(pcietune: Pcietune, tmp_path: Path) -> None:
    cmdline = "intel_iommu=on amd_iommu=on iommu=pt"

    (finding,) = _lints(pcietune, one_switch(tmp_path), cmdline, "6.16.1")

    assert (finding.severity, finding.found.value) == ("info", "intel_iommu=on amd_iommu=on")


# A passthrough host with eight RTX 6000 Ada (A33): binding is fine, `amd_iommu=on` is no value.


def test_a_passthrough_host_is_viable_and_its_command_line_has_a_word_that_is_ignored(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.put("proc/sys/kernel/osrelease", "6.14.0-33-generic")
    host.put(
        "proc/cmdline",
        "ro amd_iommu=on iommu=pt vfio-pci.ids=10de:26b1,10de:22ba modprobe.blacklist=nouveau",
    )
    for number in range(8):
        bus = 0x40 + number
        port = f"0000:{number:02x}:01.1"
        address = f"0000:{bus:02x}:00"
        card = replace(
            gpu(f"{address}.0", below=port, driver="vfio-pci"),
            config=ConfigBuilder("10de:26b1", 0x030000).express(ENDPOINT),
            group=2 * number + 1,
        )
        audio = ConfigBuilder("10de:22ba", 0x040300).express(ENDPOINT)
        host.add(
            replace(root_port(port), group=2 * number),
            card,
            Function(
                f"{address}.1", audio, port, driver="vfio-pci", group=2 * number + 1, vfio=True
            ),
        )

    shown = pcietune("groups", "--json", "--from", tmp_path)
    found = msgspec.json.decode(shown.stdout, type=GroupsDocument).groups

    cards = [group for group in found if len(group.members) == 2]
    assert len(cards) == 8
    assert {group.viability for group in cards} == {"viable"}
    cmdline = "amd_iommu=on iommu=pt vfio-pci.ids=10de:26b1,10de:22ba"
    lints = _lints(pcietune, one_switch(tmp_path / "b"), cmdline, "6.14.0")
    assert [(lint.severity, lint.found.value) for lint in lints] == [
        ("info", "amd_iommu=on"),
        ("info", "vfio-pci.ids=10de:26b1,10de:22ba"),
    ]
    assert "other cards have the same" in lints[1].reason


@pytest.mark.parametrize("cmdline", ["intel_iommu=on iommu=pt", "amd_iommu=off", ""])
def test_what_means_what_it_says_is_left_alone(
    pcietune: Pcietune, tmp_path: Path, cmdline: str
) -> None:
    (finding,) = _lints(pcietune, one_switch(tmp_path), cmdline, "6.16.1")

    assert (finding.state, finding.found.text) == ("pass", "no word that misleads")
