"""Public reports on peer-to-peer without VMs: what ``paths`` says of the two."""

from pathlib import Path

from cli.in_process import Pcietune
from trees.function import gpu, root_port
from trees.host import TreeHost

ONE, OTHER = "0000:40:03.1", "0000:60:01.1"


def _notes(pcietune: Pcietune, root: Path, control: int, node: str = "0") -> str:
    """Return what is said of two GPUs below root ports with this ACS Control."""
    far = gpu("0000:61:00.0", below=OTHER)
    far.attributes["numa_node"] = node
    ports = [root_port(port, acs=(0x005F, control)) for port in (ONE, OTHER)]
    TreeHost(root).add(ports[0], gpu("0000:41:00.0", below=ONE), ports[1], far)
    run = pcietune("paths", "GPU0", "GPU1", "--from", root)
    assert run.exit_code == 0
    return run.stdout


# NVIDIA/nccl#2079 (A01): two GPUs behind root ports that redirect, cleared by setpci.


def test_root_ports_that_redirect_are_named_with_what_lasts(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    said = _notes(pcietune, tmp_path, 0x001D)

    assert "via root complex: the two have no switch in common" in said
    assert f"ReqRedir+ at {ONE} and {OTHER}" in said
    assert f"pci=disable_acs_redir={ONE};{OTHER}, or with iommu=pt" in said
    assert "lost with a reboot and leaves the IOMMU groups stale" in said
    assert "noacs" not in said


# openucx/ucx#3564 (A18): other socket, and ACS makes an error of what was only slow.


def test_redirection_across_sockets_fails(pcietune: Pcietune, tmp_path: Path) -> None:
    assert "expect failure, not only slowness" in _notes(pcietune, tmp_path, 0x001D, "1")


# NVIDIA/nccl#606 (A05) and #1405 (A16): SrcValid+ alone, or nothing on at all.


def test_acs_that_redirects_nothing_is_exonerated(pcietune: Pcietune, tmp_path: Path) -> None:
    for control in (0x0001, 0x0000):
        said = _notes(pcietune, tmp_path / f"{control}", control)
        assert "ACS is not what keeps these two apart" in said
        assert ("SrcValid+ by itself redirects nothing" in said) is bool(control)
