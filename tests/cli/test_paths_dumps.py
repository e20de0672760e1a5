"""What ``paths`` says of dumps: nothing that a register's state alone does not tell."""

from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions
from trees.function import downstream_port, nic

from pcietune.report.paths_document import PairDocument, PathsDocument

GPU_PORT, NIC_PORT, NIC = "0000:22:00.0", "0000:22:04.0", "0000:24:00.0"
LINUX, OPENED, CLEAR = 0x1D, 0x5D, 0x00
ATS_ON = (0x0020, 0x8000)


def _dump(file: Path, control: int) -> Path:
    """Write a dump of a switch whose ports have this ACS Control; drivers and groups it lacks."""
    made = {
        port: downstream_port(port, below="0000:21:00.0", acs=(0x5F, control))
        for port in (GPU_PORT, NIC_PORT)
    }
    made[NIC] = nic(NIC, below=NIC_PORT, ats=ATS_ON)
    file.write_text(dump([made.get(f.address, f) for f in one_switch_functions()]))
    return file


def _pair(pcietune: Pcietune, *arguments: str | Path) -> tuple[PairDocument, str]:
    """Return the NIC and the GPU, and what is printed about them."""
    command = ["paths", "NIC0", "GPU0", *arguments]
    document = pcietune(*command, "--json").stdout
    (pair,) = msgspec.json.decode(document, type=PathsDocument).pairs
    return pair, pcietune(*command).stdout


@pytest.mark.parametrize("control", [LINUX, OPENED, CLEAR])
@pytest.mark.parametrize("cmdline", [None, "iommu=pt", "vfio-pci.ids=10de:20f3,15b3:101b iommu=pt"])
def test_a_dump_without_a_duty_names_no_change(
    pcietune: Pcietune, tmp_path: Path, control: int, cmdline: str | None
) -> None:
    arguments: list[str | Path] = ["--from", _dump(tmp_path / "dump", control)]
    if cmdline is not None:
        (tmp_path / "cmdline").write_text(f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 {cmdline}\n")
        arguments += ["--from", tmp_path / "cmdline"]
    pair, said = _pair(pcietune, *arguments)

    for cure in (pair.cure_forth, pair.cure_back):
        assert cure is not None
        assert cure.changes == []
    assert "to make it direct" not in said
    assert "disable_acs_redir=" not in said


@pytest.mark.parametrize("control", [CLEAR, LINUX])
@pytest.mark.parametrize(
    "cmdline",
    [
        "amd_iommu=off",
        "intel_iommu=on iommu=pt",
        "iommu=pt iommu=nopt intel_iommu=on",
        "intel_iommu=on iommu=pt vfio-pci.ids=10de:20f3,15b3:101b",
    ],
)
def test_a_command_line_beside_a_dump_proves_no_way_direct(
    pcietune: Pcietune, tmp_path: Path, control: int, cmdline: str
) -> None:
    (tmp_path / "cmdline").write_text(f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 {cmdline}\n")
    pair, _ = _pair(
        pcietune, "--from", _dump(tmp_path / "dump", control), "--from", tmp_path / "cmdline"
    )

    expected = "unknown" if control == CLEAR else "via root complex"
    for way in (pair.now.forth, pair.now.back):
        assert way.write.outcome == expected


def test_on_bare_metal_a_dump_names_its_port_in_one_word(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair, said = _pair(pcietune, "--mode", "baremetal", "--from", _dump(tmp_path / "dump", LINUX))

    assert pair.cure_forth is not None
    first = pair.cure_forth.changes[0]
    assert (first.address, first.bits) == (NIC_PORT, ["ReqRedir-"])
    forth, _ = said.split("GPU0 asks NIC0")
    assert forth.count("disable_acs_redir=") == 1
    assert "pcietune kernel-args --mode baremetal" in forth


def test_redirection_below_directtrans_is_not_for_a_duty_of_bare_metal_to_clear(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    source = _dump(tmp_path / "dump", OPENED)
    _, said = _pair(pcietune, "--mode", "baremetal", "--from", source)

    assert f"DirectTrans+ at {NIC_PORT} is set for VMs" in said
    assert "disable_acs_redir=" not in said
