"""Public reports on hosts that bind by id, each with its verdict, from a recording of the host."""

from pathlib import Path

from cli.in_process import Pcietune, Run
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, downstream_port, nic, root_port, upstream_port
from trees.host import TreeHost

from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recording import record
from pcietune.host.sysfs import SysfsHost

ROOT, UPSTREAM, NIC_PORT = "0000:00:01.0", "0000:10:00.0", "0000:11:1f.0"
SETTINGS = "etc/pcietune/pcietune.yaml"


def _function(address: str, id: str, class_code: int, *, below: str | None = None) -> Function:  # noqa: A002 -- as everywhere in the model
    config = ConfigBuilder(id, class_code).power_management().express(ENDPOINT)
    return Function(address, config, below=below)


def _switch(tree: TreeHost, *ports: str) -> None:
    """Add a switch, with a NIC that makes the host one for the profile."""
    tree.add(root_port(ROOT), upstream_port(UPSTREAM, below=ROOT))
    tree.add(*(downstream_port(port, below=UPSTREAM) for port in (*ports, NIC_PORT)))
    tree.add(nic("0000:30:00.0", below=NIC_PORT))


def _audit(pcietune: Pcietune, tree: TreeHost) -> Run:
    archive = tree.root.parent / "host.tar"
    record(SysfsHost(HostFiles(tree.root, recorded=False)), archive)
    return pcietune("audit", "--from", archive, "--profile", "gpu-rdma", "--mode", "vm", "--json")


# truenas/middleware#11397, HikariKnight/quickpassthrough#10 (E11): two identical GPUs, one wanted.


def test_of_two_identical_gpus_an_id_takes_also_the_one_that_the_host_keeps(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    wanted, kept = "0000:17:00.0", "0000:65:00.0"
    tree = TreeHost(tmp_path / "host")
    _switch(tree, "0000:11:00.0")
    tree.add(_function(wanted, "10de:1ff2", 0x030000, below="0000:11:00.0"))
    tree.add(_function(kept, "10de:1ff2", 0x030000))
    tree.put("etc/modprobe.d/vfio.conf", "options vfio-pci ids=10de:1ff2")
    tree.put(SETTINGS, f"mode: vm\nprotect:\n  - address: {kept}\n    reason: the host's own")

    found = _audit(pcietune, tree).finding("owner.vfio-ids", "host")

    assert (found.state, found.severity) == ("fail", "warning")
    assert f"vfio-pci takes {wanted}, and {kept} too, which the profile does not" in found.reason
    assert found.remedy is not None
    assert "take ids= out of /etc/modprobe.d/vfio.conf" in found.remedy.command
    assert "pcietune binds them by address" in found.remedy.command


# A host with eight RTX 6000 Ada (A33): bound well, by the ids of GPU and audio function.


def test_the_id_of_an_audio_function_fits_that_of_any_other_card(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = TreeHost(tmp_path / "host")
    ports = [f"0000:11:{number:02x}.0" for number in range(8)]
    _switch(tree, *ports)
    for number, port in enumerate(ports):
        slot = f"0000:{0x20 + number:02x}:00"
        tree.add(_function(f"{slot}.0", "10de:26b1", 0x030000, below=port))
        tree.add(_function(f"{slot}.1", "10de:22ba", 0x040300, below=port))
    display_audio = "0000:e1:00.1"
    tree.add(_function(display_audio, "10de:22ba", 0x040300))
    tree.put("proc/cmdline", "amd_iommu=on iommu=pt vfio-pci.ids=10de:26b1,10de:22ba")

    run = _audit(pcietune, tree)

    found = run.finding("owner.vfio-ids", "host")
    assert "and 4 more" in found.reason  # of eight GPUs
    assert f"{display_audio} too" in found.reason
    assert "0000:20:00.1" not in found.reason  # it goes with its GPU
    tokens = {f.found.text for f in run.document().findings if f.id == "kernel.cmdline"}
    assert "amd_iommu=on" in tokens
