"""Public reports on kernel command lines that did not do what they said, each with its verdict."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import (
    ACS_BY_LINUX,
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
    nic,
    root_port,
    upstream_port,
)
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.document import FindingDocument
from pcietune.report.groups import GroupsDocument


def _lints(
    pcietune: Pcietune, host: TreeHost, cmdline: str, release: str, mode: str = "vm"
) -> list[FindingDocument]:
    host.put("proc/cmdline", f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro {cmdline} quiet")
    host.put("proc/sys/kernel/osrelease", release)
    run = pcietune("audit", "--from", host.root, "--profile", "gpu-rdma", "--mode", mode, "--json")
    return [f for f in run.document().findings if f.id == "kernel.cmdline"]


def _about(lints: list[FindingDocument], token: str) -> FindingDocument:
    """Return the only lint about a word or a device."""
    (lint,) = (lint for lint in lints if lint.found.value == token)
    return lint


# linux-pci, RESEND v2 of 2025-02-06 (B09): two entries, and kernels 6.11 to 6.14.

BARE = "baremetal"
TWO_ENTRIES = "pci=config_acs=1111011@0020:02:00.0;101xxxx@0039:00:00.0"


def test_two_entries_on_a_broken_kernel_are_warned_of(pcietune: Pcietune, tmp_path: Path) -> None:
    lints = _lints(pcietune, one_switch(tmp_path), TWO_ENTRIES, "6.12.10")

    finding = _about(lints, TWO_ENTRIES)
    assert (finding.state, finding.severity) == ("fail", "warning")
    assert "takes only the first entry" in finding.reason


def test_on_a_fixed_kernel_an_x_drops_what_the_kernel_would_set(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    lints = _lints(pcietune, one_switch(tmp_path), TWO_ENTRIES, "6.12.83")

    finding = _about(lints, "101xxxx@0039:00:00.0")
    assert finding.severity == "info"
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
    host = _two_level_host(tmp_path, acs=ACS_BY_LINUX)

    lints = _lints(pcietune, host, f"pci=disable_acs_redir={','.join(LISTED)}", "6.16.1", BARE)

    cut_off = _about(lints, ",".join(LISTED[1:]))
    assert (cut_off.severity, cut_off.state) == ("warning", "fail")
    assert cut_off.reason == "a comma ends the list of devices: what follows it is ignored"


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_device_that_is_on_no_path_is_named(
    pcietune: Pcietune, tmp_path: Path, separator: str
) -> None:
    host = _two_level_host(tmp_path, acs=0)
    cmdline = f"pci=disable_acs_redir={separator.join(LISTED)}"

    lints = _lints(pcietune, host, cmdline, "6.16.1", BARE)

    astray = _about(lints, "0000:19:01.0")
    assert (
        astray.reason
        == "no GPU and no NIC of this profile is below it, so it does nothing for them"
    )
    assert {lint.found.value for lint in lints} & set(LISTED) == {"0000:19:01.0"}


def test_acs_that_is_off_under_an_iommu_that_translates_is_not_enough(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _two_level_host(tmp_path, acs=0)
    host.put("proc/cmdline", f"ro pci=disable_acs_redir={';'.join(PORTS)}")

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", BARE, "--json")

    assert run.finding("acs.redirection", "host").state == "pass"
    passthrough = run.finding("iommu.passthrough", "host")
    assert (passthrough.state, passthrough.severity) == ("fail", "error")
    assert "are translated, so peers miss the switch's windows" in passthrough.reason
    assert passthrough.remedy is not None
    assert passthrough.remedy.command == "iommu=pt, then reboot"
    words = pcietune("kernel-args", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", BARE)
    assert "iommu=pt" in words.stdout.splitlines()


def test_with_iommu_pt_besides_nothing_is_left_to_say(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _two_level_host(tmp_path, acs=0)
    for group in (tmp_path / "sys/kernel/iommu_groups").iterdir():
        host.group_type(int(group.name), "identity")
    cmdline = f"pci=disable_acs_redir={';'.join(PORTS)} iommu=pt"

    lints = _lints(pcietune, host, cmdline, "6.16.1", BARE)

    assert [lint.state for lint in lints] == ["pass"]
    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", BARE, "--json")
    assert run.finding("iommu.passthrough", "host").state == "pass"


# drivers/pci/p2pdma.c tells its user to turn redirection off, whatever the host is for.


def test_dmesgs_advice_is_warned_of_where_vms_rely_on_redirection(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    cmdline = "pci=disable_acs_redir=0000:22:04.0"

    lints = _lints(pcietune, one_switch(tmp_path), cmdline, "6.16.1")

    advice = _about(lints, "disable_acs_redir=0000:22:04.0")
    assert advice.severity == "warning"
    assert "turns off what keeps VMs apart at 0000:22:04.0" in advice.reason
    assert _lints(pcietune, one_switch(tmp_path / "b"), cmdline, "6.16.1", BARE)[0].state == "pass"


def test_a_device_that_is_not_there_is_named(pcietune: Pcietune, tmp_path: Path) -> None:
    lints = _lints(pcietune, one_switch(tmp_path), "pci=config_acs=1011101@0000:99:00.0", "6.16.1")

    assert _about(lints, "0000:99:00.0").severity == "warning"


UPPER = ("0000:0a:00.0", "0000:0a:04.0")
LOWER = ("0000:0c:10.0", "0000:0c:18.0", "0000:16:00.0", "0000:16:08.0")
CARDS = ("0000:0e:01.0", "0000:12:01.0", "0000:18:01.0", "0000:1c:01.0")
PORTS = (*UPPER, *LOWER, *CARDS)
LISTED = ("0000:0c:10.0", "0000:0a:00.0", "0000:0c:18.0", "0000:19:01.0")


def _two_level_host(root: Path, *, acs: int) -> TreeHost:
    """Return the report's fabric, with a NIC in the place of the last GPU.

    Args:
        root: Of the host.
        acs: ACS Control of every port.
    """
    host = TreeHost(root)
    host.intel_iommu("dmar0")
    registers = (ACS_CAPABLE, acs)
    functions = [
        root_port("0000:00:01.0", acs=registers),
        upstream_port("0000:09:00.0", below="0000:00:01.0"),
    ]
    functions += [downstream_port(p, below="0000:09:00.0", acs=registers) for p in UPPER]
    functions += [
        upstream_port("0000:0b:00.0", below=UPPER[0]),
        upstream_port("0000:15:00.0", below=UPPER[1]),
    ]
    for number, (port, card) in enumerate(zip(LOWER, CARDS, strict=True)):
        below = "0000:0b:00.0" if number < 2 else "0000:15:00.0"
        card_bus = int(card[5:7], 16)
        top, device = f"0000:{card_bus - 1:02x}:00.0", f"0000:{card_bus + 1:02x}:00.0"
        last = nic if card == CARDS[-1] else gpu
        functions += [
            downstream_port(port, below=below, acs=registers),
            upstream_port(top, below=port),
            downstream_port(card, below=top, acs=registers),
            last(device, below=card),
        ]
    audio = ConfigBuilder("10de:22ba", 0x040300).express(ENDPOINT)
    functions.append(Function("0000:19:01.0", audio, below="0000:18:01.0"))
    host.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate(functions)))
    return host


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
