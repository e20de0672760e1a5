"""Public reports from bare-metal GPU servers, each with the verdict that its host deserves."""

from dataclasses import replace
from pathlib import Path

from cli.in_process import Pcietune
from trees.config import DOWNSTREAM_PORT, ENDPOINT, ROOT_PORT, ConfigBuilder
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

ROOT, GPU_PORT, NIC_PORT = "0000:20:01.0", "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
UPSTREAM = "0000:21:00.0"
ACS_OFF = (ACS_CAPABLE, 0x0000)


def _plx_port(address: str, control: int) -> Function:
    """Return a downstream port of a PLX PEX 87xx, whose ACS stands at f24h."""
    config = ConfigBuilder("10b5:8747", 0x060400).power_management().express(DOWNSTREAM_PORT)
    config.serial_number(0, at=0x100).acs(ACS_CAPABLE, control, at=0xF24)
    return Function(address, config, below=UPSTREAM, driver="pcieport")


# NVIDIA/nccl#304 (A02): GDR crashes below a PLX 87xx whose downstream ports read 001d.


def test_redirect_at_a_plx_switch_is_found_where_its_acs_is(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    ports = (_plx_port(GPU_PORT, ACS_BY_LINUX), _plx_port(NIC_PORT, ACS_BY_LINUX))
    one_switch(tmp_path, iommu=False, instead=[root_port(ROOT, acs=ACS_OFF), *ports])

    run = pcietune(
        "audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal", "--json"
    )

    assert run.exit_code == 3
    for place, port in (("nic-side", NIC_PORT), ("gpu-side", GPU_PORT)):
        for bit, kind in (("ReqRedir", "requests"), ("CmpltRedir", "completions")):
            finding = run.finding(f"port.{place}.{bit}", port)
            assert finding.state == "fail"
            assert finding.found.value == "0x001d"
            assert finding.reason.startswith(
                f"peer-to-peer {kind} are redirected to the root complex"
            )


def test_direct_translated_is_written_where_a_plx_switch_has_its_acs(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    ports = (_plx_port(GPU_PORT, ACS_BY_LINUX), _plx_port(NIC_PORT, ACS_BY_LINUX))
    one_switch(tmp_path, instead=ports)

    run = pcietune("plan", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    (write,) = run.document().writes
    assert (write.address, write.offset) == (NIC_PORT, "0xf2a")
    assert (write.old, write.mask, write.new) == ("0x001d", "0x0040", "0x005d")


# NVIDIA/nccl#606 (A05): an AMD host whose ports have at most SrcValid+, which is blamed.


def _amd_root_port(address: str, *, control: int) -> Function:
    config = ConfigBuilder("1022:1483", 0x060400).power_management().express(ROOT_PORT)
    return Function(address, config.acs(0x005F, control), driver="pcieport")


def test_source_validation_alone_is_blamed_for_nothing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(
        tmp_path,
        instead=[
            _amd_root_port(ROOT, control=0x0001),
            downstream_port(GPU_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, 0x0001)),
            downstream_port(NIC_PORT, below=UPSTREAM, acs=ACS_OFF),
        ],
    )

    run = pcietune(
        "audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal", "--json"
    )

    assert not [f for f in run.document().findings if "SrcValid" in f.id]
    assert not [failing for failing in run.failing() if failing[0].startswith("port.")]
    passthrough = run.finding("iommu.passthrough", "host")
    assert passthrough.state == "fail"
    assert "go up to the root complex" in passthrough.reason


def test_a_host_without_a_switch_is_told_where_its_paths_meet(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _without_a_switch(tmp_path)

    run = pcietune("audit", "--from", host.root, "--mode", "baremetal")

    assert run.exit_code == 9
    assert "gpu-rdma: no switch carries both a GPU and a NIC" in run.stderr
    assert "look at the IOMMU's mode and at host bridges between peers" in run.stderr
    assert "SrcValid" not in run.stderr + run.stdout


def test_a_translating_iommu_is_blamed_where_there_is_no_switch_and_srcvalid_is_not(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _without_a_switch(tmp_path)
    ours = tmp_path / "ours.yaml"
    shipped = pcietune("profile", "show", "gpu-rdma").stdout
    ours.write_text(
        shipped.replace("generic: true", "").replace("place: switch-group", "classes: ['0302']")
    )

    run = pcietune("audit", "--from", host.root, "--profile", ours, "--mode", "baremetal")

    assert run.exit_code == 3
    assert "FAIL  iommu.passthrough (error)" in run.stdout
    assert "0000:41:00.0 are translated" in run.stdout
    assert (
        "No switch carries both a GPU and a NIC: their paths meet in the root complex" in run.stdout
    )
    assert "SrcValid" not in run.stdout


def _without_a_switch(tmp_path: Path) -> TreeHost:
    """Return an AMD host whose GPU and NIC sit below root ports of their own."""
    host = TreeHost(tmp_path / "host")
    functions = (
        _amd_root_port("0000:40:01.0", control=0x0001),
        Function(
            "0000:41:00.0",
            ConfigBuilder("10de:2235", 0x030200).express(ENDPOINT),  # A40
            below="0000:40:01.0",
        ),
        _amd_root_port("0000:60:01.0", control=0x0000),
        nic("0000:61:00.0", below="0000:60:01.0"),
    )
    host.add(*(replace(function, group=number) for number, function in enumerate(functions)))
    return host


# NVIDIA/caffe#10 (A10): a script for 10b5 in domain 0 misses other makers, root ports and domains.


def test_broadcom_and_root_ports_of_any_domain_are_judged(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.add(
        root_port("0001:20:01.0"),
        upstream_port("0001:21:00.0", below="0001:20:01.0"),
        downstream_port("0001:22:00.0", below="0001:21:00.0"),
        downstream_port("0001:22:04.0", below="0001:21:00.0"),
        gpu("0001:23:00.0", below="0001:22:00.0"),
        nic("0001:24:00.0", below="0001:22:04.0"),
    )

    run = pcietune(
        "audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal", "--json"
    )

    redirecting = {failing for failing in run.failing() if failing[0].endswith("ReqRedir")}
    assert redirecting == {
        ("port.upstream.ReqRedir", "0001:20:01.0"),
        ("port.gpu-side.ReqRedir", "0001:22:00.0"),
        ("port.nic-side.ReqRedir", "0001:22:04.0"),
    }
    assert run.finding("port.nic-side.ReqRedir", "0001:22:04.0").subject.id == "1000:c010"


def test_the_remedy_is_one_kernel_argument_that_names_every_port_by_its_path(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path).put("proc/sys/kernel/osrelease", "6.16.1")

    run = pcietune(
        "audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal", "--json"
    )

    remedy = run.finding("port.nic-side.ReqRedir", NIC_PORT).remedy
    assert remedy is not None
    assert remedy.kind == "kernel-args"
    assert remedy.command == "pcietune kernel-args --mode baremetal --write LOADER, then reboot"
    words = pcietune("kernel-args", "--mode", "baremetal", "--from", tmp_path).stdout
    ports = "0000:20:01.0;0000:20:01.0/00.0/00.0;0000:20:01.0/00.0/04.0"
    assert f"pci=disable_acs_redir={ports}" in words.splitlines()


# NVIDIA/nccl#1405 (A16): every ACSCtl is 0000, and still there is a completion error.


def test_acs_is_exonerated_where_it_redirects_nothing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(
        tmp_path,
        iommu=False,
        instead=[
            root_port(ROOT, acs=ACS_OFF),
            downstream_port(GPU_PORT, below=UPSTREAM, acs=ACS_OFF),
            downstream_port(NIC_PORT, below=UPSTREAM, acs=ACS_OFF),
            nic(NIC, below=NIC_PORT, ats=None),
        ],
    )
    judged = ("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal")

    text, run = pcietune(*judged), pcietune(*judged, "--json")

    assert run.exit_code == 0
    assert (
        "ACS redirects nothing on the GPU-NIC paths: whatever is slow or fails here, look elsewhere"
        in text.stdout
    )
    for finding_id, port in (
        ("port.upstream.ReqRedir", ROOT),
        ("port.gpu-side.ReqRedir", GPU_PORT),
        ("port.nic-side.ReqRedir", NIC_PORT),
    ):
        passing = run.finding(finding_id, port)
        assert passing.state == "pass"
        assert passing.reason == "redirects nothing here"
    exonerated = run.finding("acs.redirection", "host")
    assert (exonerated.state, exonerated.severity) == ("pass", "info")
    assert exonerated.reason.startswith("ACS redirects nothing on the GPU-NIC paths")


# openucx/ucx#11412 (A19, F01): without root, 64 bytes of Configuration Space are readable.


def test_acs_that_only_root_may_read_is_never_called_off(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    functions = [
        root_port(ROOT),
        upstream_port(UPSTREAM, below=ROOT),
        downstream_port(GPU_PORT, below=UPSTREAM),
        downstream_port(NIC_PORT, below=UPSTREAM),
        gpu(GPU, below=GPU_PORT),
        nic(NIC, below=NIC_PORT),
    ]
    one_switch(tmp_path, instead=[replace(f, config=f.config.cut(64)) for f in functions])

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    assert run.exit_code == 5
    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert finding.state == "error"
    assert finding.found.text == "not known"
    assert finding.reason == f"{NIC_PORT}: only the first 64 bytes were recorded"
    assert finding.remedy is not None
    assert finding.remedy.command == "record the host again as root"
    registers = ("port.", "nic.", "link.", "device.", "path.")
    told_by_sysfs = ("port.runtime-pm", "port.acs-violations")
    assert {
        f.state
        for f in run.document().findings
        if f.id.startswith(registers) and f.id not in told_by_sysfs
    } == {"error"}


def test_what_only_root_may_read_exonerates_nobody(pcietune: Pcietune, tmp_path: Path) -> None:
    ports = (downstream_port(NIC_PORT, below=UPSTREAM), downstream_port(GPU_PORT, below=UPSTREAM))
    one_switch(tmp_path, instead=[replace(port, config=port.config.cut(64)) for port in ports])

    run = pcietune("audit", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "baremetal")

    assert run.exit_code == 5
    assert "ACS redirects nothing" not in run.stdout
    assert "NOT READ  port.gpu-side.CmpltRedir and 5 more (error)" in run.stdout
    assert "only the first 64 bytes were recorded" in run.stdout
