"""Public reports on IOMMU groups and VFIO, each with what ``pcietune groups`` and audit say."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune, Run
from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.function import (
    ACS_BY_LINUX,
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
    nic,
    nvswitch,
    root_port,
)
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.groups import GroupDocument, GroupsDocument

ROOT, UPSTREAM = "0000:20:01.0", "0000:21:00.0"
GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
GPU_GROUP, NIC_GROUP = 4, 5
PEG = "0000:00:01.0"
FIRST, SECOND = "0000:00:01.1", "0000:00:01.2"


def _audit(pcietune: Pcietune, host: Path, *, mode: str = "vm") -> Run:
    return pcietune("audit", "--from", host, "--profile", "gpu-rdma", "--mode", mode, "--json")


def _document(run: Run) -> GroupsDocument:
    assert run.exit_code == 0
    return msgspec.json.decode(run.stdout, type=GroupsDocument)


def _group(pcietune: Pcietune, host: Path, number: int) -> GroupDocument:
    run = pcietune("groups", "--all", "--json", "--from", host)
    (found,) = (group for group in _document(run).groups if group.group == number)
    return found


def _device(what: tuple[str, int], address: str, below: str, driver: str | None) -> Function:
    """Return a function of this ID and class, which no group has yet."""
    config = ConfigBuilder(*what).express(ENDPOINT)
    return Function(address, config, below=below, driver=driver, vfio=driver == "vfio-pci")


# kubernetes-sigs/dra-driver-nvidia-gpu#1191 (E01): a GPU on vfio-pci, its audio on snd_hda_intel.


def test_a_gpus_audio_on_its_own_driver_blocks_and_is_to_be_bound_too(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    card = gpu("0000:86:00.0", below="0000:80:01.0", driver="vfio-pci")
    audio = replace(
        _device(("10de:0fbc", 0x040300), "0000:86:00.1", "0000:80:01.0", "snd_hda_intel"), group=6
    )
    host.add(replace(root_port("0000:80:01.0"), group=5), replace(card, group=6), audio)

    found = _group(pcietune, tmp_path, 6)

    assert found.viability == "not viable"
    assert found.advice == ["bind 0000:86:00.1 too: snd_hda_intel has it"]
    assert [m.class_name for m in found.members] == ["3D controller", "Audio device"]
    assert not found.kept_together


# 64kramsystem/vga-passthrough#15 (E02): a PEG port without ACS, and nvidia has the GPU.


def test_a_bridge_in_the_group_is_not_what_keeps_vfio_out_but_the_gpus_driver(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    peg = ConfigBuilder("8086:0c01", 0x060400).express(0x4)
    host = TreeHost(tmp_path)
    host.add(
        Function(PEG, peg, driver="pcieport", group=1),
        replace(_device(("10de:1187", 0x030000), "0000:01:00.0", PEG, "nvidia"), group=1),
        replace(_device(("10de:0e0a", 0x040300), "0000:01:00.1", PEG, None), group=1),
    )

    found = _group(pcietune, tmp_path, 1)

    assert found.viability == "the host's"
    assert [m.address for m in found.members if m.blocks] == ["0000:01:00.0"]
    (advice,) = found.advice
    assert "bind 0000:01:00.0 before nvidia loads" in advice
    assert "softdep nvidia pre: vfio-pci" in advice
    assert PEG not in advice
    assert not found.reaches


def test_with_the_audio_given_to_vfio_it_is_told_how_vfio_comes_first(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.add(
        replace(root_port(PEG, acs=None), group=1),
        replace(_device(("10de:1187", 0x030000), "0000:01:00.0", PEG, "nvidia"), group=1),
        replace(_device(("10de:0e0a", 0x040300), "0000:01:00.1", PEG, "vfio-pci"), group=1),
    )

    found = _group(pcietune, tmp_path, 1)

    assert found.viability == "not viable"
    bind, order = found.advice
    assert bind == "bind 0000:01:00.0 too: nvidia has it"
    assert "softdep nvidia pre: vfio-pci" in order


# VoltCyclone/PCILeechFWGenerator#77 (E03): a bridge with pcieport in the group.


def test_a_group_of_a_bridge_with_pcieport_and_a_vfio_function_is_viable(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, driver="vfio-pci")
    into_group(host, GPU_PORT, GPU_GROUP)

    found = _group(pcietune, tmp_path, GPU_GROUP)

    assert (found.viability, found.advice) == ("viable", [])
    said = pcietune("groups", "--from", tmp_path).stdout
    assert (
        f"-> {GPU_PORT} is not to be bound: bridges of pcieport do not count, and ACS is not"
        in said
    )


# usnistgov/ndn-dpdk#63 (E09): an X710 with four functions, one bound.


def test_functions_of_one_card_that_are_not_bound_are_named(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.add(replace(root_port("0000:40:01.0"), group=43))
    for number in range(4):
        driver = "vfio-pci" if number == 3 else "i40e"
        port = _device(("8086:1572", 0x020000), f"0000:44:00.{number}", "0000:40:01.0", driver)
        host.add(replace(port, group=44))

    found = _group(pcietune, tmp_path, 44)

    assert found.viability == "not viable"
    assert found.advice == [f"bind 0000:44:00.{number} too: i40e has it" for number in range(3)]


# harvester/harvester#10499 (E14): the boot disk is in the GPU's group.


def test_a_disk_in_the_gpus_group_is_asked_about(pcietune: Pcietune, tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro intel_iommu=on amd_iommu=on iommu=pt")
    bridge = ConfigBuilder("1022:14b7", 0x060000)
    host.add(
        Function("0000:00:01.0", bridge, group=0),
        replace(root_port(FIRST), group=0),
        replace(root_port(SECOND), group=0),
        replace(_device(("1002:164e", 0x030000), "0000:07:00.0", FIRST, "vfio-pci"), group=0),
        replace(_device(("144d:a80a", 0x010802), "0000:08:00.0", SECOND, "nvme"), group=0),
    )

    found = _group(pcietune, tmp_path, 0)

    assert found.viability == "not viable"
    assert found.advice == [
        "bind 0000:08:00.0 too: nvme has it",
        "0000:08:00.0 holds disks: is the host's own root among them?",
    ]


# kata-containers#13433 (C14) and lspci's names: an NVSwitch is a bridge by class, and a device.


def test_an_nvswitch_with_a_driver_blocks_as_a_device_does(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, driver="vfio-pci")
    host.add(replace(nvswitch("0000:23:01.0", below=GPU_PORT), driver="nvidia", group=GPU_GROUP))

    found = _group(pcietune, tmp_path, GPU_GROUP)

    assert found.advice == ["bind 0000:23:01.0 too: nvidia has it"]


# lf-edge/eve#5969, truenas/linux#170 (E16): the ACS override is on by default.

OVERRIDE = "pcie_acs_override=downstream,multifunction"


def _overridden(tmp_path: Path) -> TreeHost:
    bare = [downstream_port(p, below=UPSTREAM, acs=None) for p in (GPU_PORT, NIC_PORT)]
    host = one_switch(tmp_path, instead=[root_port(ROOT, acs=None), *bare])
    host.put("proc/cmdline", f"ro quiet {OVERRIDE}")
    return host


def test_with_an_acs_override_the_groups_are_shown_beside_what_registers_imply(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _overridden(tmp_path)

    document = _document(pcietune("groups", "--json", "--from", tmp_path))
    text = pcietune("groups", "--from", tmp_path).stdout

    assert OVERRIDE in document.warnings[0]
    ours = {group.group: group for group in document.groups}
    assert (NIC_PORT, "no ACS capability", [GPU]) in [
        (reach.address, reach.missing, reach.others) for reach in ours[NIC_GROUP].reaches
    ]
    assert f"NOT APART from {GPU}: {NIC_PORT} has no ACS capability" in text


def test_with_an_acs_override_audit_calls_the_groups_fiction(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _overridden(tmp_path)

    finding = _audit(pcietune, tmp_path).finding("kernel.acs-override", "host")

    assert (finding.state, finding.severity, finding.found.value) == ("fail", "error", OVERRIDE)
    assert NIC_PORT in finding.reason


def test_an_override_where_registers_isolate_is_a_warning(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path).put("proc/cmdline", f"ro quiet {OVERRIDE}")

    assert _audit(pcietune, tmp_path).finding("kernel.acs-override", "host").severity == "warning"


# "Fix incorrect iommu_groups with PCIe ACS" (linux-pci; E19): downstream ports without ACS.


def test_downstream_ports_without_acs_are_not_isolated_though_linux_separates_them(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    bare = [downstream_port(p, below=UPSTREAM, acs=None) for p in (GPU_PORT, NIC_PORT)]
    host = one_switch(tmp_path, driver="vfio-pci", instead=bare)
    into_group(host, GPU, 2)  # with its port
    into_group(host, NIC, 3)

    run = _audit(pcietune, tmp_path)
    shown = _group(pcietune, tmp_path, 3)

    finding = run.finding("group.isolation", NIC_PORT)
    assert (finding.state, finding.severity) == ("fail", "error")
    assert finding.reason.startswith(f"ISOLATION LOST, and {GPU}, {NIC} given to VFIO relies on it")
    assert finding.found.text == "no ACS capability"
    assert shown.viability == "viable"
    assert {reach.address for reach in shown.reaches} == {GPU_PORT, NIC_PORT}
    assert [reach.others for reach in shown.reaches] == [[GPU], [GPU]]


# Milan firmware (linux-pci; E22): the kernel set 1d, and later 1c is read.


def test_source_validation_lost_alone_is_no_hole(pcietune: Pcietune, tmp_path: Path) -> None:
    lost = root_port(ROOT, acs=(ACS_CAPABLE, 0x001C))
    one_switch(tmp_path, driver="vfio-pci", instead=[lost])

    run = _audit(pcietune, tmp_path)

    for finding_id in ("group.isolation", "port.upstream.SrcValid"):
        finding = run.finding(finding_id, ROOT)
        assert (finding.state, finding.severity) == ("fail", "info")
        assert "only SrcValid is off" in finding.reason
    assert "ISOLATION LOST" not in run.stdout
    shown = pcietune("groups", "--from", tmp_path).stdout
    assert "NOT APART" not in shown
    assert f"apart from {NIC}, though a request may bear another's name: {ROOT}" in shown


# Pericom (linux-pci; E27): RR in cut-through mode.


@pytest.mark.parametrize(
    ("release", "state"), [("5.15.0-119-generic", "fail"), ("6.12.83", "pass")]
)
def test_pericom_switches_with_redirection_are_warned_of_on_older_kernels(
    pcietune: Pcietune, tmp_path: Path, release: str, state: str
) -> None:
    config = ConfigBuilder("12d8:2404", 0x060400).express(0x6).acs(0x087F, ACS_BY_LINUX)
    port = Function(NIC_PORT, config, below=UPSTREAM, driver="pcieport")
    host = one_switch(tmp_path, instead=[port])
    host.put("proc/sys/kernel/osrelease", release)

    finding = _audit(pcietune, tmp_path).finding("port.quirk", NIC_PORT)

    assert (finding.state, finding.severity) == (state, "warning")


# "disable ACS when? setpci at run time versus groups" (linux-pci; B15).


def test_controls_cleared_at_run_time_make_the_groups_stale(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    cleared = downstream_port(NIC_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, 0x0000))
    one_switch(tmp_path, driver="vfio-pci", instead=[cleared])

    run = _audit(pcietune, tmp_path, mode="baremetal")

    finding = run.finding("group.isolation", NIC_PORT)
    assert (finding.state, finding.severity) == ("fail", "error")
    assert finding.reason.startswith("ISOLATION LOST")
    assert finding.remedy
    assert "reboot" in finding.remedy.command


def test_controls_set_at_run_time_leave_one_group_from_before(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    into_group(host, NIC, GPU_GROUP)

    assert _audit(pcietune, tmp_path).finding("group.isolation", NIC).severity == "info"
    assert _group(pcietune, tmp_path, GPU_GROUP).kept_together


# What the command shows, and where it ends.


def test_groups_of_ports_alone_are_left_out_unless_all_are_asked_for(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    some = _document(pcietune("groups", "--json", "--from", tmp_path))
    every = _document(pcietune("groups", "--all", "--json", "--from", tmp_path))

    assert [group.group for group in some.groups] == [GPU_GROUP, NIC_GROUP]
    assert not any(group.kept_together or group.reaches for group in every.groups)
    assert [group.group for group in every.groups] == [0, 1, 2, 3, 4, 5]


def test_without_an_iommu_there_is_nothing_to_show(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, iommu=False)

    run = pcietune("groups", "--from", tmp_path)

    assert (run.exit_code, run.stdout) == (0, "no IOMMU group to show\n")


def test_a_port_that_does_not_answer_ends_with_6_and_bears_out_nothing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    silent = downstream_port(NIC_PORT, below=UPSTREAM)
    silent.config.all_ones()
    host = one_switch(tmp_path, instead=[silent])
    into_group(host, NIC, GPU_GROUP)

    run = pcietune("groups", "--json", "--from", tmp_path)

    assert run.exit_code == 6
    assert NIC_PORT in run.stderr
    document = msgspec.json.decode(run.stdout, type=GroupsDocument)
    assert NIC_PORT in document.problems[0]
    assert not any(group.kept_together for group in document.groups)


def test_a_driver_that_makes_vfio_devices_is_one_whatever_its_name(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    variant = replace(nic(NIC, below=NIC_PORT, driver="mlx5_vfio_pci"), vfio=True)
    one_switch(tmp_path, instead=[variant])

    assert _group(pcietune, tmp_path, NIC_GROUP).viability == "viable"


def test_a_group_is_told_only_what_its_own_members_reach(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    bare = downstream_port("0000:22:08.0", below=UPSTREAM, acs=(ACS_CAPABLE, 0))
    disk = _device(("144d:a80a", 0x010802), "0000:25:00.0", "0000:22:08.0", None)
    host.add(replace(bare, group=20), replace(disk, group=21))

    assert [r.others for r in _group(pcietune, tmp_path, GPU_GROUP).reaches] == [["0000:25:00.0"]]


def test_a_bridge_on_another_driver_is_to_be_unbound_and_never_bound(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, driver="vfio-pci", instead=[])
    hotplug = replace(downstream_port("0000:22:08.0", below=UPSTREAM), driver="shpchp")
    host.add(replace(hotplug, group=GPU_GROUP))

    (advice,) = _group(pcietune, tmp_path, GPU_GROUP).advice

    assert advice.startswith("unbind shpchp from 0000:22:08.0")


def test_companions_outside_the_group_and_members_that_vanished_are_told(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    host.add(replace(nic("0000:24:00.1", below=NIC_PORT), group=20))
    host.put(f"sys/kernel/iommu_groups/{NIC_GROUP}/devices/0000:7f:00.0", "")

    run = pcietune("groups", "--from", tmp_path)

    assert "  0000:7f:00.0  vanished\n" in run.stdout
    assert "0000:24:00.1 is part of the same device, and in another group or in none" in run.stdout


def test_a_group_on_a_known_bad_kernel_is_shown_with_a_warning(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path).put("proc/sys/kernel/osrelease", "6.12.77")

    run = pcietune("groups", "--from", tmp_path)

    assert run.stdout.startswith("NOT as it seems: 6.12.75 to 6.12.82 form groups before ACS is on")


def test_a_dump_tells_no_groups(pcietune: Pcietune, tmp_path: Path) -> None:
    file = tmp_path / "host.lspci"
    file.write_text(dump(one_switch_functions()))

    run = pcietune("groups", "--from", file)

    assert (run.exit_code, run.stdout) == (6, "")
    assert "the IOMMU groups are not known: a dump does not tell" in run.stderr


def test_a_dump_with_a_listing_of_groups_tells_no_drivers(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    functions = one_switch_functions()
    functions[3].config.word(0x106, 0x0000)  # ACS Control of the NIC's downstream port
    file, listing = tmp_path / "host.lspci", tmp_path / "groups"
    file.write_text(dump(functions))
    listing.write_text(
        "".join(
            f"/sys/kernel/iommu_groups/{number}/devices/{function.address}\n"
            for number, function in enumerate(functions)
        )
    )

    document = _document(pcietune("groups", "--json", "--from", file, "--from", listing))

    ours = {group.group: group for group in document.groups}
    assert ours[NIC_GROUP].viability == "not known"
    assert [reach.others for reach in ours[NIC_GROUP].reaches] == [[GPU]]
    assert ours[NIC_GROUP].members[0].not_known == ["driver", "vfio"]


def test_a_member_that_the_dump_does_not_have_leaves_it_open_whether_vfio_takes_the_group(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    file, listing = tmp_path / "host.lspci", tmp_path / "groups"
    heading = f"{GPU} 030200\n"
    driver = "\tKernel driver in use: vfio-pci\n"
    file.write_text(dump(one_switch_functions()).replace(heading, f"{heading}{driver}"))
    members = [(ROOT, 0), (UPSTREAM, 1), (GPU_PORT, 2), (NIC_PORT, 3), (GPU, 4), (NIC, 5)]
    listing.write_text(
        "".join(
            f"/sys/kernel/iommu_groups/{number}/devices/{address}\n"
            for address, number in (*members, ("0000:ff:0b.0", 4))
        )
    )

    run = pcietune("groups", "--from", file, "--from", listing)

    assert run.stdout.startswith(
        "group 4  type not known  viability not known\n"
        f"  {GPU}  10de:20f3  3D controller  gpu  driver vfio-pci\n"
        "  0000:ff:0b.0  not in the dump\n"
    )
