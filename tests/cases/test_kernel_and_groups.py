"""Public reports on what the kernel leaves in registers and groups, each with its verdict."""

from dataclasses import replace
from pathlib import Path

from cli.in_process import Pcietune, Run
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import (
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
    nvswitch,
    root_port,
)
from trees.machines import one_switch

ROOT, UPSTREAM = "0000:20:01.0", "0000:21:00.0"
GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
WITH_TRANSLATION_BLOCKING = (ACS_CAPABLE, 0x001F)


def _audit(pcietune: Pcietune, host: Path, *, mode: str) -> Run:
    return pcietune("audit", "--from", host, "--profile", "gpu-rdma", "--mode", mode, "--json")


# "Enable PCI_ACS_TB" (iommu list; B14): the kernel sets Translation Blocking on external ports.


def test_translation_blocking_above_a_nic_makes_its_ats_useless(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    blocking = downstream_port(NIC_PORT, below=UPSTREAM, acs=WITH_TRANSLATION_BLOCKING)
    one_switch(tmp_path, instead=[blocking])

    run = _audit(pcietune, tmp_path, mode="vm")

    port = run.finding("port.nic-side.TransBlk", NIC_PORT)
    assert (port.state, port.found.value) == ("fail", "0x001f")
    assert port.reason == f"every translated request is blocked here: ATS of {NIC} is useless"
    ats = run.finding("nic.ats", NIC)
    assert (ats.state, ats.found.bits) == ("fail", ["Enable+"])
    assert f"{NIC_PORT} above has TransBlk+: it blocks translated requests" in ats.reason


def test_translation_blocking_at_the_root_port_counts_too(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path, instead=[root_port(ROOT, acs=WITH_TRANSLATION_BLOCKING)])

    run = _audit(pcietune, tmp_path, mode="vm")

    assert run.finding("port.upstream.TransBlk", ROOT).state == "fail"
    assert f"{ROOT} above has TransBlk+" in run.finding("nic.ats", NIC).reason


def test_translation_blocking_above_a_gpu_alone_is_nobodys_concern(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    blocking = downstream_port(GPU_PORT, below=UPSTREAM, acs=WITH_TRANSLATION_BLOCKING)
    one_switch(tmp_path, instead=[blocking])

    run = _audit(pcietune, tmp_path, mode="vm")

    assert run.failing() == {("port.nic-side.DirectTrans", NIC_PORT)}


# "Disable ACS" over kexec (lkml, 2020-01; B16): IOMMU off on the command line, and still 001d.


def test_redirect_that_outlived_its_iommu_still_redirects(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, iommu=False)
    host.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz ro intel_iommu=off")

    run = _audit(pcietune, tmp_path, mode="baremetal")

    assert run.exit_code == 3
    finding = run.finding("port.nic-side.ReqRedir", NIC_PORT)
    assert (finding.state, finding.found.value) == ("fail", "0x001d")
    assert finding.reason == (
        "peer-to-peer requests are redirected to the root complex though no IOMMU is on: firmware "
        "set it, or a kernel with an IOMMU before a kexec, which ACS words outlive"
    )
    assert run.finding("iommu.passthrough", "host").state == "pass"


# kata-containers#13433 (C14): `class & 0x0600` takes an NVSwitch (0680) for a host bridge (0600).


def test_an_nvswitch_in_a_gpus_group_is_a_device_and_no_bridge(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    group_of_the_gpu = 4
    host.add(replace(nvswitch("0000:23:01.0", below=GPU_PORT), group=group_of_the_gpu))

    run = _audit(pcietune, tmp_path, mode="vm")

    finding = run.finding("group.separate", GPU)
    assert finding.state == "fail"
    assert finding.reason == "shares group 4 with 0000:23:01.0 (10de:1af1)"


def test_a_host_bridge_in_a_gpus_group_does_no_harm(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    group_of_the_gpu = 4
    bridge = ConfigBuilder("1022:1482", 0x060000).express(ENDPOINT)
    host.add(Function("0000:20:00.0", bridge, group=group_of_the_gpu))

    run = _audit(pcietune, tmp_path, mode="vm")

    assert run.finding("group.separate", GPU).state == "pass"


# VoltCyclone/PCILeechFWGenerator#77 (E03): a group of the GPU and its port is refused.


def test_a_port_with_pcieport_in_the_group_is_no_reason_for_alarm(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, driver="vfio-pci")
    host.put(f"{host.directory(GPU).relative_to(tmp_path)}/enable", "0")
    group_of_the_gpu = 4
    port = host.directory(GPU_PORT)
    (port / "iommu_group").unlink()
    (tmp_path / f"sys/kernel/iommu_groups/2/devices/{GPU_PORT}").unlink()
    group = f"sys/kernel/iommu_groups/{group_of_the_gpu}"
    host.link(f"{group}/devices/{GPU_PORT}", str(port.relative_to(tmp_path)))
    host.link(f"{port.relative_to(tmp_path)}/iommu_group", group)

    run = _audit(pcietune, tmp_path, mode="vm")

    finding = run.finding("group.separate", GPU)
    assert (finding.state, finding.found.text) == ("pass", "group 4")
    assert not [f for f in run.document().findings if f.remedy and "bind" in f.remedy.command]


def test_a_gpus_own_audio_function_is_part_of_it(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    group_of_the_gpu = 4
    audio = replace(gpu("0000:23:00.1", below=GPU_PORT), group=group_of_the_gpu)
    host.add(replace(audio, config=ConfigBuilder("10de:0fbc", 0x040300).express(ENDPOINT)))

    run = _audit(pcietune, tmp_path, mode="vm")

    assert run.finding("group.separate", GPU).state == "pass"
