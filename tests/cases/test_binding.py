"""Public reports on functions that went to VFIO as nobody meant, each with its verdict."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, root_port
from trees.host import TreeHost

from pcietune.report.document import BindingDocument

PROFILE = """\
version: 1
summary: GPUs wherever they sit
match: {ids: ["10de:*"]}
roles:
  gpu: {ids: ["10de:*"], classes: ["0300"]}
  nic: {ids: ["15b3:*"]}
modes:
  vm: {ports: {}, groups: separate}
"""
UNSET = {"driver_override": "(null)"}


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    host.put("etc/pcietune/profiles.d/gpus.yaml", PROFILE)
    return host


def function(  # noqa: PLR0913 -- what a report tells of one
    address: str,
    function_id: str,
    class_code: int,
    *,
    group: int,
    below: str | None = None,
    driver: str | None = None,
) -> Function:
    config = ConfigBuilder(function_id, class_code).power_management().express(ENDPOINT)
    return Function(
        address,
        config,
        below=below,
        driver=driver,
        group=group,
        iommu="dmar0",
        vfio=driver == "vfio-pci",
        attributes=UNSET,
    )


def bindings(pcietune: Pcietune, tree: TreeHost, address: str) -> dict[str, BindingDocument]:
    options = ("--mode", "vm", "--profile", "gpus", "--from", tree.root, "--json")
    run = pcietune("vfio", "bind", address, "--dry-run", *options)
    return {binding.address: binding for binding in run.document().bindings}


# kubernetes-sigs/dra-driver-nvidia-gpu#1191 (E01): a GPU on vfio-pci, its audio on snd_hda_intel.


def test_the_audio_of_a_gpu_that_vfio_has_is_to_be_bound_too(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.add(
        function("0000:86:00.0", "10de:2204", 0x030000, group=6, driver="vfio-pci"),
        function("0000:86:00.1", "10de:1aef", 0x040300, group=6, driver="snd_hda_intel"),
    )

    found = bindings(pcietune, tree, "0000:86:00.0")

    assert found["0000:86:00.0"].state == "bound"
    audio = found["0000:86:00.1"]  # what the host has of it no recording tells, so it waits there
    assert (audio.driver, audio.role, audio.state) == ("snd_hda_intel", None, "blocked")
    assert audio.why == ["may be used by the host: that is not recorded"]


# VoltCyclone/PCILeechFWGenerator#77 (E03): a false alarm on a group with a bridge on pcieport.


def test_a_bridge_on_pcieport_keeps_nothing_of_its_group_from_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    bridge = root_port("0000:00:1c.0")
    bridge.attributes.update(UNSET)
    tree.add(bridge)
    tree.link("sys/kernel/iommu_groups/15/devices/0000:00:1c.0", "sys/bus/pci/devices/0000:00:1c.0")
    tree.add(function("0000:05:00.0", "10de:2204", 0x030000, group=15, below="0000:00:1c.0"))

    (found,) = bindings(pcietune, tree, "0000:05:00.0").values()

    assert (found.state, found.why) == ("ready", [])


# truenas/middleware#11397, HikariKnight/quickpassthrough#10 (E11): two identical GPUs, one wanted.


def test_of_two_identical_gpus_only_the_one_that_is_named_goes(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.add(
        function("0000:17:00.0", "10de:1ff2", 0x030000, group=1),
        function("0000:65:00.0", "10de:1ff2", 0x030000, group=2),
    )

    (found,) = bindings(pcietune, tree, "0000:17:00.0").values()

    assert found.steps == [
        "modprobe vfio-pci",
        "echo vfio-pci > /sys/bus/pci/devices/0000:17:00.0/driver_override",
        "echo 0000:17:00.0 > /sys/bus/pci/drivers_probe",
    ]


# harvester/harvester#10499 (E14): the boot disk is in the GPU's group.


def test_a_gpu_is_not_taken_out_of_the_group_of_the_boot_disk(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.add(
        function("0000:00:01.0", "1022:14da", 0x060000, group=0),  # a host bridge
        function("0000:07:00.0", "10de:2204", 0x030000, group=0),
        function("0000:07:00.1", "10de:1aef", 0x040300, group=0),
        function("0000:08:00.0", "144d:a80a", 0x010802, group=0, driver="nvme"),
    )

    found = bindings(pcietune, tree, "0000:07:00.0")

    reason = "IOMMU group 0 also holds 0000:08:00.0 (144d:a80a), which nvme has"
    assert {b.state for b in found.values()} == {"blocked"}
    assert {why for b in found.values() for why in b.why} == {reason}
    assert list(found) == ["0000:07:00.0", "0000:07:00.1"]
