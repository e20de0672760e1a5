"""Public reports on ATS that is on and should not be, each with its verdict."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function
from trees.host import TreeHost
from trees.machines import one_switch

GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"

PROFILE = """\
version: 1
summary: AMD GPUs and ConnectX-6 NICs
match:
  ids: ["1002:*"]
roles:
  gpu:
    ids: ["1002:*"]
    trusted: true
  nic:
    ids: ["15b3:101b", "8086:1452"]
    place: gpu-switch
    trusted: true
modes:
  vm:
    ports: {}
    ats: ensure
"""


def _audit(pcietune: Pcietune, host: Path) -> Run:
    profile = host / "site.yaml"
    profile.write_text(PROFILE)
    return pcietune("audit", "--from", host, "--profile", profile, "--mode", "vm", "--json")


def _fitted(address: str, below: str, device: str, control: int, *, revision: int) -> Function:
    """Return a device with ATS as it was reported: capability 0020h, Page Aligned Request."""
    config = ConfigBuilder(device, 0x030000 if address == GPU else 0x020000).express(ENDPOINT)
    function = Function(address, config.ats(0x0020, control), below=below)
    return replace(function, attributes={"revision": f"0x{revision:02x}"})


# "PCI: Mark AMD Navi14 GPU ATS as broken" (lkml 8c54ca1fd9bc, 4217686b7155, 56700129cf8b; D02).


@pytest.mark.parametrize("device", ["1002:731f", "1002:7340", "1002:7341"])
def test_a_navi_gpu_with_ats_on_fails(pcietune: Pcietune, tmp_path: Path, device: str) -> None:
    one_switch(tmp_path, instead=[_fitted(GPU, GPU_PORT, device, 0x8000, revision=0xC5)])

    run = _audit(pcietune, tmp_path)

    found = run.finding("gpu.ats-broken", GPU)
    assert (found.state, found.found.value, found.wanted.bits) == ("fail", "0x8000", ["Enable-"])
    assert run.exit_code == 3


@pytest.mark.parametrize("control", [0x0000, None], ids=["off", "no capability"])
def test_a_navi_gpu_without_ats_is_as_it_must_be(
    pcietune: Pcietune, tmp_path: Path, control: int | None
) -> None:
    navi = _fitted(GPU, GPU_PORT, "1002:731f", control or 0, revision=0xC5)
    if control is None:
        navi = replace(navi, config=ConfigBuilder("1002:731f", 0x030000).express(ENDPOINT))
    one_switch(tmp_path, instead=[navi])

    assert _audit(pcietune, tmp_path).finding("gpu.ats-broken", GPU).state == "pass"


def test_a_navi_gpu_that_sleeps_is_not_woken_and_not_passed(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    navi = _fitted(GPU, GPU_PORT, "1002:731f", 0, revision=0xC5)
    navi.attributes["power_state"] = "D3cold"
    one_switch(tmp_path, instead=[navi])

    assert _audit(pcietune, tmp_path).finding("gpu.ats-broken", GPU).state == "error"


def test_another_gpu_may_have_its_ats_on(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, instead=[_fitted(GPU, GPU_PORT, "1002:74a1", 0x8000, revision=0)])

    run = _audit(pcietune, tmp_path)

    assert "gpu.ats-broken" not in {finding.id for finding in run.document().findings}


# quirk_intel_e2000_no_ats: a NIC whose first steppings take invalidations in the wrong byte order.


@pytest.mark.parametrize(("control", "revision"), [(0x8000, 0x1F), (0x0000, 0x00)])
def test_a_nic_whose_ats_is_broken_fails_on_or_off(
    pcietune: Pcietune, tmp_path: Path, control: int, revision: int
) -> None:
    broken = _fitted(NIC, NIC_PORT, "8086:1452", control, revision=revision)
    navi = _fitted(GPU, GPU_PORT, "1002:74a1", 0, revision=0)
    one_switch(tmp_path, instead=[navi, broken])

    found = _audit(pcietune, tmp_path).finding("nic.ats", NIC)

    assert found.state == "fail"
    assert found.reason.startswith("not to be used: before revision 20h its ATS takes")


def test_a_revision_that_is_not_known_is_not_taken_for_a_later_one(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    unknown = _fitted(NIC, NIC_PORT, "8086:1452", 0x8000, revision=0x20)
    unknown.attributes["revision"] = ""
    navi = _fitted(GPU, GPU_PORT, "1002:74a1", 0, revision=0)
    one_switch(tmp_path, instead=[navi, unknown])

    assert _audit(pcietune, tmp_path).finding("nic.ats", NIC).state == "fail"


def test_its_later_steppings_do_not(pcietune: Pcietune, tmp_path: Path) -> None:
    mended = _fitted(NIC, NIC_PORT, "8086:1452", 0x8000, revision=0x20)
    navi = _fitted(GPU, GPU_PORT, "1002:74a1", 0, revision=0)
    one_switch(tmp_path, instead=[navi, mended])

    assert _audit(pcietune, tmp_path).finding("nic.ats", NIC).state == "pass"


# riscv-non-isa/riscv-iommu#720 (C16): with T2GPA a translated request carries a guest address.


def _behind_riscv_iommu(host: TreeHost) -> None:
    unit = "sys/devices/platform/soc/riscv-iommu@10010000"
    (host.root / unit).mkdir(parents=True)
    host.link("sys/class/iommu/riscv-iommu@10010000", unit)
    link = host.directory(NIC) / "iommu"
    link.unlink()
    host.link(str(link.relative_to(host.root)), unit)


@pytest.mark.parametrize("control", [0x8000, 0x0000], ids=["on", "off"])
def test_behind_an_iommu_that_may_answer_with_guest_addresses_nothing_passes(
    pcietune: Pcietune, tmp_path: Path, control: int
) -> None:
    navi = _fitted(GPU, GPU_PORT, "1002:74a1", 0, revision=0)
    config = ConfigBuilder("15b3:101b", 0x020700).express(ENDPOINT).ats(0x0020, control)
    host = one_switch(tmp_path, instead=[navi, Function(NIC, config, below=NIC_PORT)])
    _behind_riscv_iommu(host)

    run = _audit(pcietune, tmp_path)

    found = run.finding("nic.ats", NIC)
    assert (found.state, run.exit_code) == ("error", 6)
    assert ("answers with host addresses" in found.reason) is bool(control)
