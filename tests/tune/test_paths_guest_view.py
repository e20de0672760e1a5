"""What a VM shows: QEMU's hw/vfio and hw/pci-bridge, systemd's list of firmware names."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, RC_INTEGRATED_ENDPOINT, ConfigBuilder
from trees.function import Function, downstream_port, nic, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened

from pcietune.tune.match.survey import survey
from pcietune.tune.paths.guest_view import Guest, guest_view
from pcietune.tune.paths.pairs import view_paths

PORTS = ("0000:00:01.0", "0000:00:02.0")
GPUS = ("0000:01:00.0", "0000:02:00.0")


def _guest(tree: TreeHost) -> Guest | None:
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    return guest_view(host, fabric, view_paths(host, fabric, {}).peers)


def _said(tree: TreeHost) -> str:
    found = _guest(tree)
    assert found is not None
    return "\n".join(found.sentences)


def _firmware(tree: TreeHost, vendor: str, product: str) -> None:
    for name, text in (("sys_vendor", vendor), ("product_name", product)):
        tree.put(f"sys/devices/virtual/dmi/id/{name}", text)


def _machine(root: Path) -> TreeHost:
    tree = TreeHost(root)
    _firmware(tree, "QEMU", "Standard PC (Q35 + ICH9, 2009)")
    return tree


def _gpu(address: str, *, below: str | None, port_type: int = ENDPOINT) -> Function:
    config = ConfigBuilder("10de:2330", 0x030200).express(port_type)
    return Function(address, config, below=below, attributes={"numa_node": "-1"})


def _with_root_ports(root: Path, *cliques: int | None) -> TreeHost:
    tree = _machine(root)
    for port, address, clique in zip(PORTS, GPUS, cliques or (None, None), strict=True):
        gpu = _gpu(address, below=port)
        if clique is not None:
            gpu.config.capability(0x09, b"\x08P2P" + bytes([clique << 3, 0]))
        tree.add(root_port(port, acs=None), gpu)
    return tree


@pytest.mark.parametrize(
    ("vendor", "product"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)"),
        ("Red Hat", "KVM"),
        ("OpenStack Foundation", "OpenStack Nova"),
        ("VMware, Inc.", "VMware7,1"),
        ("Microsoft Corporation", "Virtual Machine"),
        ("Amazon EC2", "p5.48xlarge"),
    ],
)
def test_firmware_tells_a_vm(tmp_path: Path, vendor: str, product: str) -> None:
    tree = one_switch(tmp_path)
    _firmware(tree, vendor, product)
    found = _guest(tree)

    assert found is not None
    assert found.why == f"its firmware says {vendor} {product}"


@pytest.mark.parametrize(
    ("vendor", "product"),
    [
        ("Supermicro", "SYS-821GE-TNHR"),
        ("Microsoft Corporation", "C2190"),
        ("Amazon EC2", "p4d.metal"),
    ],
)
def test_a_machine_is_none_whatever_its_devices(tmp_path: Path, vendor: str, product: str) -> None:
    tree = one_switch(tmp_path)
    _firmware(tree, vendor, product)
    tree.add(Function("0000:00:03.0", ConfigBuilder("1af4:1041", 0x020000)))

    assert _guest(tree) is None


@pytest.mark.parametrize("device", ["1af4:1041", "1b36:0010"])
def test_of_a_dump_ids_tell(tmp_path: Path, device: str) -> None:
    tree = one_switch(tmp_path)
    _firmware(tree, "", "")
    assert _guest(tree) is None

    tree.add(Function("0000:00:03.0", ConfigBuilder(device, 0x020000)))
    found = _guest(tree)
    assert found is not None
    assert device[:4] in found.why


def test_a_real_switch_with_the_id_that_qemu_borrows_is_no_vm(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    _firmware(tree, "", "")
    tree.add(Function("0000:05:00.0", ConfigBuilder("104c:8232", 0x060400)))

    assert _guest(tree) is None


def test_ats_on_in_a_flat_vm_is_only_half_of_it(tmp_path: Path) -> None:
    tree = _machine(tmp_path)
    adapter = nic(GPUS[0], below=PORTS[0], ats=(0x0020, 0x8000))
    tree.add(root_port(PORTS[0], acs=None), replace(adapter, attributes={"numa_node": "-1"}))
    tree.add(root_port(PORTS[1], acs=None), _gpu(GPUS[1], below=PORTS[1]))
    said = _said(tree)

    assert "DirectTrans above all, cannot be seen from here; ask for what `pcietune paths`" in said
    assert f"ATS Enable+ of {GPUS[0]} is as it should be, and only half" in said
    assert "no switch is to be seen above GPUs and NICs" in said
    assert "NCCL_TOPO_FILE" in said
    assert f"the NUMA node of {GPUS[1]}, {GPUS[0]} is not to be seen" in said


@pytest.mark.parametrize(
    ("port_type", "kind"), [(None, "conventional PCI"), (RC_INTEGRATED_ENDPOINT, "integrated")]
)
def test_gpus_on_the_root_bus_have_no_pcie_hierarchy(
    tmp_path: Path, port_type: int | None, kind: str
) -> None:
    tree = _machine(tmp_path)
    config = ConfigBuilder("10de:20b0", 0x030200)
    tree.add(Function("0000:00:0a.0", config if port_type is None else config.express(port_type)))
    said = _said(tree)

    assert f"0000:00:0a.0 on the root bus itself, as {kind}" in said
    assert "ATS cannot be used" in said
    assert "pcie-root-port" in said


def test_devices_behind_ports_are_not_said_to_be_on_the_root_bus(tmp_path: Path) -> None:
    assert "root bus" not in _said(_with_root_ports(tmp_path))


def test_the_hypervisors_word_is_read_and_the_tree_has_no_say(tmp_path: Path) -> None:
    tree = _with_root_ports(tmp_path, 3, 3)
    found = _guest(tree)

    assert found is not None
    assert {str(address): clique for address, clique in found.cliques.items()} == {
        GPUS[0]: 3,
        GPUS[1]: 3,
    }
    assert f"between {GPUS[0]}, {GPUS[1]} (P2P approval, clique 3)" in found.sentences[-1]
    assert "all_reduce_perf -c 1" in found.sentences[-1]


def test_without_it_an_emulated_switch_changes_nothing(tmp_path: Path) -> None:
    tree = _machine(tmp_path)
    switch = upstream_port("0000:01:00.0", below=PORTS[0])
    tree.add(
        root_port(PORTS[0], acs=None),
        replace(switch, config=ConfigBuilder("104c:8232", 0x060400).express(0x5)),
    )
    for number in (0, 1):
        port = f"0000:02:0{number}.0"
        tree.add(downstream_port(port, below="0000:01:00.0", acs=None))
        tree.add(_gpu(f"0000:0{number + 3}:00.0", below=port))
    said = _said(tree)

    assert "0000:03:00.0, 0000:04:00.0 without the P2P approval capability" in said
    assert "QEMU's switch, 104c:8232, does not change that" in said
    assert "no switch is to be seen" not in said
