from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ROOT_PORT, ConfigBuilder
from trees.express import Express
from trees.function import Function, downstream_port, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.ats_hosts import ENABLED, NIC_GROUP, OFF, ON, arm, behind, host
from tune.judged import GPU, NIC, NIC_PORT
from tune.judged import ROOT_PORT as ROOT
from tune.paths_hosts import sender

from pcietune.model.packet import AddressSpace

VF = "0000:24:00.1"


@pytest.mark.parametrize(
    ("domain", "space"),
    [
        ("DMA-FQ", AddressSpace.KERNEL),
        ("DMA", AddressSpace.KERNEL),
        ("identity", AddressSpace.PHYSICAL),
        ("unmanaged", AddressSpace.UNKNOWN),
    ],
)
def test_what_a_drivers_addresses_mean_is_told_by_the_groups_type(
    tmp_path: Path, domain: str, space: AddressSpace
) -> None:
    assert sender(host(tmp_path, ON, domain=domain), NIC).address is space


def test_without_an_iommu_addresses_are_physical(tmp_path: Path) -> None:
    assert sender(one_switch(tmp_path, iommu=False), NIC).address is AddressSpace.PHYSICAL


def test_without_an_iommu_nobody_answers_translation_requests(tmp_path: Path) -> None:
    found = sender(one_switch(tmp_path, iommu=False), NIC, guest=True)

    assert found.translated is False
    assert "no IOMMU" in found.why


def test_what_vfio_has_sends_a_guests_addresses(tmp_path: Path) -> None:
    tree = host(tmp_path, ON, driver="vfio-pci", domain="identity", in_use=True)

    assert sender(tree, NIC).address is AddressSpace.GUEST


@pytest.mark.parametrize(
    ("ats", "domain", "translated"),
    [
        (ON, "DMA-FQ", True),
        (OFF, "identity", True),  # the kernel turns it on when VFIO attaches
        (OFF, "DMA-FQ", False),  # the kernel would have turned it on: it was lost
        (None, "identity", False),
    ],
)
def test_a_vms_nic_sends_translated_requests_if_the_kernel_turns_ats_on_for_it(
    tmp_path: Path, ats: tuple[int, int] | None, domain: str, *, translated: bool
) -> None:
    assert sender(host(tmp_path, ats, domain=domain), NIC, guest=True).translated is translated


def test_a_nic_in_use_by_a_vm_with_ats_off_sends_none_translated(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF, driver="vfio-pci", domain="identity", in_use=True)

    found = sender(tree, NIC)

    assert found.translated is False
    assert "in use by VFIO and off" in found.why


def test_the_hosts_own_nic_with_ats_off_sends_none_translated(tmp_path: Path) -> None:
    assert sender(host(tmp_path, OFF, domain="identity"), NIC).translated is False


def test_ats_without_a_device_tlb_in_the_iommu_is_of_no_use(tmp_path: Path) -> None:
    tree = host(tmp_path, ON)
    tree.put("sys/devices/virtual/iommu/dmar0/intel-iommu/ecap", "f050da")

    found = sender(tree, NIC, guest=True)

    assert found.translated is False
    assert "no device TLB" in found.why


def test_noats_keeps_requests_untranslated(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF, domain="identity")
    tree.put("proc/cmdline", "ro pci=noats")

    assert sender(tree, NIC, guest=True).translated is False


def test_ats_that_is_known_broken_does_not_count_though_it_is_on(tmp_path: Path) -> None:
    config = ConfigBuilder("1002:7340", 0x030000).express(ENDPOINT).ats(0x0020, ENABLED)
    tree = one_switch(tmp_path, instead=[Function(GPU, config, below="0000:22:00.0")])

    found = sender(tree, GPU, guest=True)

    assert found.translated is False
    assert "not to be used" in found.why


def test_what_an_iommu_of_another_kind_answers_is_not_known(tmp_path: Path) -> None:
    tree = host(tmp_path, ON)
    unit = "sys/devices/platform/soc/iommu/riscv-iommu@3010000"
    (tree.root / unit).mkdir(parents=True)
    tree.link("sys/class/iommu/riscv-iommu@3010000", unit)

    assert (
        sender(behind(tree, "riscv-iommu@3010000"), NIC, guest=True).answer is AddressSpace.UNKNOWN
    )


def test_an_smmu_answers_with_host_addresses(tmp_path: Path) -> None:
    tree = arm(host(tmp_path, ON))

    assert sender(tree, NIC, guest=True).answer is AddressSpace.PHYSICAL


def test_a_port_that_blocks_translated_requests_is_left_to_the_route(tmp_path: Path) -> None:
    blocking = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x5F, 0x5F))
    tree = one_switch(tmp_path, instead=[blocking])

    assert sender(tree, NIC, guest=True).translated is True


def test_ats_that_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    config = tree.config(NIC)
    config.write_bytes(config.read_bytes()[:64])

    assert sender(tree, NIC, guest=True).translated is None


def without_group_type(tree: TreeHost, cmdline: str) -> TreeHost:
    """Have a host not tell the type of the NIC's group, as a dump beside its command line."""
    (tree.root / f"sys/kernel/iommu_groups/{NIC_GROUP}/type").unlink()
    tree.put("proc/cmdline", f"ro {cmdline}".strip())
    return tree


@pytest.mark.parametrize(
    ("cmdline", "space"),
    [
        ("", AddressSpace.UNKNOWN),
        ("iommu=pt", AddressSpace.PHYSICAL),
        ("intel_iommu=on,sm_on iommu=pt,noforce", AddressSpace.PHYSICAL),
        ("iommu=nopt iommu=pt", AddressSpace.PHYSICAL),
        ("iommu=pt iommu=nopt", AddressSpace.UNKNOWN),
        ("iommu=pt,nopt", AddressSpace.UNKNOWN),
        ("iommu.passthrough=1", AddressSpace.PHYSICAL),
        ("iommu=pt iommu.passthrough=0", AddressSpace.UNKNOWN),
        ("intel_iommu=off", AddressSpace.PHYSICAL),
        ("intel_iommu=off intel_iommu=on", AddressSpace.UNKNOWN),
        ("iommu=off", AddressSpace.PHYSICAL),
        ("amd_iommu=off", AddressSpace.UNKNOWN),  # the root port is Intel's
    ],
)
def test_the_command_line_tells_what_addresses_mean_where_groups_do_not(
    tmp_path: Path, cmdline: str, space: AddressSpace
) -> None:
    """By iommu_setup (arch/x86/kernel/pci-dma.c): of pt and nopt the last counts."""
    assert sender(without_group_type(host(tmp_path, ON), cmdline), NIC).address is space


@pytest.mark.parametrize(
    ("vendor", "word", "space"),
    [
        ("1022:1483", "amd_iommu=off", AddressSpace.PHYSICAL),
        ("1022:1483", "intel_iommu=off", AddressSpace.UNKNOWN),
        ("1b36:000c", "iommu=off", AddressSpace.UNKNOWN),  # a VM's, on whatever processor
    ],
)
def test_only_the_processors_own_parameter_turns_its_iommu_off(
    tmp_path: Path, vendor: str, word: str, space: AddressSpace
) -> None:
    root = Function(ROOT, ConfigBuilder(vendor, 0x060400).express(ROOT_PORT).acs(0x5F, 0x1D))
    tree = without_group_type(one_switch(tmp_path, instead=[root]), word)

    assert sender(tree, NIC).address is space


@pytest.mark.parametrize("relaxed", [True, False])
def test_a_vf_may_relax_ordering_if_its_pf_may(tmp_path: Path, *, relaxed: bool) -> None:
    express = Express(relaxed_ordering=relaxed)
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, express=express)])
    virtual = nic(VF, below=NIC_PORT, express=Express(relaxed_ordering=not relaxed))
    tree.add(replace(virtual, physical_function=NIC))

    assert sender(tree, VF).relaxed_ordering is relaxed
