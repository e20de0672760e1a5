"""What apply keeps for the initramfs is what the initramfs does with it."""

import subprocess
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.host import TreeHost
from trees.machines import one_switch

SCRIPT = Path(__file__).parents[2] / "initramfs" / "early-overrides"
APPLY = ("apply", "--profile", "gpu-rdma", "--mode", "vm", "--in-place", "--from")
GPU, NIC = "0000:23:00.0", "0000:24:00.0"


@pytest.fixture
def host(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    host.put("etc/pcietune/pcietune.yaml", "{enforce: apply, vfio: {bind: [gpu, nic]}}")
    for address in (GPU, NIC):
        (host.directory(address) / "driver_override").write_text("(null)\n")
    return host


def test_what_apply_lists_the_initramfs_keeps_for_vfio_at_the_next_boot(
    pcietune: Pcietune, host: TreeHost
) -> None:
    pcietune(*APPLY, host.root)
    for address in (GPU, NIC):  # what a reboot leaves of them
        (host.directory(address) / "driver_override").write_text("(null)\n")
    (host.root / "dev").mkdir(exist_ok=True)

    subprocess.run(["dash", SCRIPT, host.root], check=True)

    assert (host.root / "dev/kmsg").read_text() == (
        f"<6>pcietune: {GPU} is kept for vfio-pci\n<6>pcietune: {NIC} is kept for vfio-pci\n"
    )
    for address in (GPU, NIC):
        assert (host.directory(address) / "driver_override").read_text() == "vfio-pci\n"


def test_apply_says_once_that_the_image_is_old(pcietune: Pcietune, host: TreeHost) -> None:
    said = "what an initramfs keeps for VFIO has changed"

    first, second = (pcietune(*APPLY, host.root).stderr for _ in range(2))

    assert said in first
    assert said not in second


def test_nothing_is_listed_where_nothing_may_be_done_unattended(
    pcietune: Pcietune, host: TreeHost
) -> None:
    host.put("etc/pcietune/pcietune.yaml", "{enforce: audit, vfio: {bind: [gpu, nic]}}")

    pcietune(*APPLY, host.root)

    assert not (host.root / "etc/pcietune/early-overrides").exists()
