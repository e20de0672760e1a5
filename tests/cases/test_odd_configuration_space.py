"""Public reports of registers, lists and addresses that trip decoders, each with its verdict."""

import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune, Run
from trees.config import DOWNSTREAM_PORT, UPSTREAM_PORT, ConfigBuilder
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

from pcietune.report.topology import NodeDocument, TopologyDocument

ROOT, UPSTREAM = "0000:20:01.0", "0000:21:00.0"
GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
VENDOR_SPECIFIC, AER, POWER_BUDGETING = 0x000B, 0x0001, 0x0004


def _audit(pcietune: Pcietune, host: Path) -> Run:
    return pcietune("audit", "--from", host, "--profile", "gpu-rdma", "--mode", "vm", "--json")


def _lspci(host: Path) -> str:
    command = ["lspci", "-vv", "-s", NIC_PORT, "-O", f"sysfs.path={host}/sys/bus/pci"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _repeating_itself(config: ConfigBuilder) -> ConfigBuilder:
    """Let the first 256 bytes be seen sixteen times, as where extended accesses are cut short."""
    for start in range(0x100, 0x1000, 0x100):
        config.put(start, config.build()[:0x100])
    return config


def _port(address: str, function_id: str, *, below: str, port_type: int) -> Function:
    config = ConfigBuilder(function_id, 0x060400).power_management().express(port_type)
    return Function(address, config, below=below, driver="pcieport")


def _nodes(nodes: list[NodeDocument]) -> dict[str, NodeDocument]:
    found = {node.address: node for node in nodes}
    for node in nodes:
        found |= _nodes(node.children)
    return found


# lkml 8d9205edf51f, 232a1eb53213 and a SiFive board (E26): ASM1812 with ACS, ASM2824 without,
# and a Pericom 12d8:2304 below it whose ACS Capability is 087f, an Egress Control Vector of 8.
# Its control is 0000 here: 08 taken for a control would read as CmpltRedir+.


@pytest.fixture
def assorted_switches(tmp_path: Path) -> Path:
    """Return a host with a GPU and a NIC below an ASM1812, and below an ASM2824 and a Pericom."""
    asm1812 = [
        _port(address, "1b21:1812", below="0000:21:00.0", port_type=DOWNSTREAM_PORT)
        for address in ("0000:22:00.0", "0000:22:04.0")
    ]
    for port in asm1812:
        port.config.acs(0x005F, 0x001D)
    pericom = _port("0000:44:01.0", "12d8:2304", below="0000:43:00.0", port_type=DOWNSTREAM_PORT)
    pericom.config.acs(0x087F, 0x0000)
    functions = (
        root_port("0000:20:01.0"),
        _port("0000:21:00.0", "1b21:1812", below="0000:20:01.0", port_type=UPSTREAM_PORT),
        *asm1812,
        gpu("0000:23:00.0", below="0000:22:00.0"),
        nic("0000:24:00.0", below="0000:22:04.0"),
        root_port("0000:40:01.0"),
        _port("0000:41:00.0", "1b21:2824", below="0000:40:01.0", port_type=UPSTREAM_PORT),
        _port("0000:42:03.0", "1b21:2824", below="0000:41:00.0", port_type=DOWNSTREAM_PORT),
        _port("0000:42:04.0", "1b21:2824", below="0000:41:00.0", port_type=DOWNSTREAM_PORT),
        _port("0000:43:00.0", "12d8:2304", below="0000:42:03.0", port_type=UPSTREAM_PORT),
        pericom,
        nic("0000:45:00.0", below="0000:44:01.0"),
        gpu("0000:46:00.0", below="0000:42:04.0"),
    )
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    host.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate(functions)))
    return tmp_path


def test_a_vector_size_turns_no_control_on(pcietune: Pcietune, assorted_switches: Path) -> None:
    run = _audit(pcietune, assorted_switches)

    finding = run.finding("port.upstream.CmpltRedir", "0000:44:01.0")
    assert finding.state == "fail"
    assert (finding.found.text, finding.found.value) == ("CmpltRedir- in ACSCtl 0x0000", "0x0000")
    assert finding.found.bits is not None
    assert all(bit.endswith("-") for bit in finding.found.bits)
    assert finding.reason == "completions below pass to neighbours unseen by the IOMMU"


def test_of_one_makers_switches_one_has_acs_and_one_has_not(
    pcietune: Pcietune, assorted_switches: Path
) -> None:
    run = _audit(pcietune, assorted_switches)

    asm1812 = run.finding("port.nic-side.DirectTrans", "0000:22:04.0")
    asm2824 = run.finding("port.nic-side.DirectTrans", "0000:42:03.0")
    assert (asm1812.state, asm1812.found.value) == ("fail", "0x001d")
    assert (asm2824.state, asm2824.found.text) == ("fail", "no ACS capability")
    assert asm2824.reason.startswith("0000:42:03.0 has no ACS capability: ")
    assert asm2824.remedy is not None
    assert asm2824.remedy.kind == "hardware"


def test_a_vector_size_is_shown_beside_the_controls(
    pcietune: Pcietune, assorted_switches: Path
) -> None:
    run = pcietune("topo", "--json", "--from", assorted_switches)

    nodes = _nodes(msgspec.json.decode(run.stdout, type=TopologyDocument).functions)
    pericom = nodes["0000:44:01.0"]
    assert (pericom.acs_capability, pericom.acs_control) == ("0x087f", "0x0000")
    assert pericom.acs_egress_vector_size == 8
    assert pericom.acs_unclaimed_request_redirect is None
    assert (nodes["0000:42:03.0"].acs_capability, nodes["0000:42:03.0"].problem) == (None, None)


def test_a_vector_size_is_kept_out_of_what_is_written(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(
        tmp_path, instead=[downstream_port(NIC_PORT, below=UPSTREAM, acs=(0x087F, ACS_BY_LINUX))]
    )

    run = pcietune("plan", "--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    (write,) = run.document().writes
    assert (write.old, write.mask, write.new) == ("0x001d", "0x0040", "0x005d")


# PLX 8725 and 8749 (F03): the Extended Capability list runs 100 fb4 138 10c 148 e00 b00 b70, and
# on downstream ports f24 (ACS) in place of b00.


def test_acs_is_found_though_the_list_goes_backwards(pcietune: Pcietune, tmp_path: Path) -> None:
    port = _port(NIC_PORT, "10b5:8749", below=UPSTREAM, port_type=DOWNSTREAM_PORT)
    port.config.serial_number(0, at=0x100).extended(AER, bytes(0x28), at=0xFB4)
    port.config.extended(POWER_BUDGETING, bytes(12), at=0x138).extended(0x0002, bytes(24), at=0x10C)
    port.config.extended(0x0002, bytes(24), at=0x148).extended(0x0012, bytes(44), at=0xE00)
    port.config.acs(ACS_CAPABLE, ACS_BY_LINUX, at=0xF24).extended(
        VENDOR_SPECIFIC, bytes(12), at=0xB70
    )
    one_switch(tmp_path, instead=[port])

    run = _audit(pcietune, tmp_path)

    assert run.exit_code == 3
    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert (finding.state, finding.found.value) == ("fail", "0x001d")
    assert run.failing() == {("port.nic-side.DirectTrans", NIC_PORT)}


# pciutils' broken-ecaps and `Capabilities: [100 v0] Null` (F04).


def test_a_null_capability_is_passed_over(pcietune: Pcietune, tmp_path: Path) -> None:
    port = _port(NIC_PORT, "10b5:8749", below=UPSTREAM, port_type=DOWNSTREAM_PORT)
    port.config.extended(0, b"", version=0, at=0x100).acs(ACS_CAPABLE, ACS_BY_LINUX, at=0x140)
    one_switch(tmp_path, instead=[port])

    run = _audit(pcietune, tmp_path)

    assert "Capabilities: [100 v0] Null\n" in _lspci(tmp_path)
    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert (finding.state, finding.found.value) == ("fail", "0x001d")


def test_a_port_with_nothing_but_a_null_capability_has_no_acs(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    port = _port(NIC_PORT, "10b5:8749", below=UPSTREAM, port_type=DOWNSTREAM_PORT)
    one_switch(tmp_path, instead=[port])

    run = _audit(pcietune, tmp_path)

    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert (finding.state, finding.found.text) == ("fail", "no ACS capability")
    assert finding.reason.startswith(f"{NIC_PORT} has no ACS capability: ")
    assert finding.remedy is not None
    assert finding.remedy.kind == "hardware"


def test_a_host_bridge_that_repeats_its_registers_breaks_nothing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    bridge = ConfigBuilder("1002:7911", 0x060000).word(0x06, 0x2220)  # Status: no list
    bridge.put(0x2C, bytes.fromhex("58140050")).put(0x34, b"\xc4")
    bridge.put(0xC4, bytes.fromhex("0800800160001111d0000000"))  # HyperTransport
    host = one_switch(tmp_path)
    host.add(Function("0000:00:00.0", _repeating_itself(bridge)))

    run = pcietune("topo", "--all", "--json", "--from", tmp_path)

    assert run.exit_code == 0
    nodes = _nodes(msgspec.json.decode(run.stdout, type=TopologyDocument).functions)
    bridge_node = nodes["0000:00:00.0"]
    assert (bridge_node.problem, bridge_node.port_type, bridge_node.acs_capability) == (
        None,
        None,
        None,
    )


def test_a_port_that_repeats_its_registers_is_not_said_to_lack_acs(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    port = downstream_port(NIC_PORT, below=UPSTREAM, acs=None)  # c0101000: next at c01
    one_switch(tmp_path, instead=[replace(port, config=_repeating_itself(port.config))])

    run = _audit(pcietune, tmp_path)

    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert finding.state == "error"
    assert finding.reason == (
        f"{NIC_PORT}: the Extended Capability list is broken: at 0xc01 it is not aligned to 4 bytes"
    )
    assert run.exit_code == 6


def test_a_capability_list_that_loops_is_an_error_that_says_where(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    port = downstream_port(NIC_PORT, below=UPSTREAM, acs=None)
    port.config.serial_number(0, at=0x100).next_extended(0x100, 0x100)
    one_switch(tmp_path, instead=[port])

    run = _audit(pcietune, tmp_path)

    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert finding.state == "error"
    assert finding.reason == (
        f"{NIC_PORT}: the Extended Capability list is broken: at 0x100 it loops"
    )
    assert run.exit_code == 6


# VMD, cloud VMs (F05): domains 10000 and 1f392, and eight digits.


def test_domains_wider_than_four_digits_are_judged_and_written(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    domains = ("10000", "1f392", "deadbeef")
    functions = [
        function
        for domain in domains
        for function in (
            root_port(f"{domain}:20:01.0"),
            upstream_port(f"{domain}:21:00.0", below=f"{domain}:20:01.0"),
            downstream_port(f"{domain}:22:00.0", below=f"{domain}:21:00.0"),
            downstream_port(f"{domain}:22:04.0", below=f"{domain}:21:00.0"),
            gpu(f"{domain}:23:00.0", below=f"{domain}:22:00.0"),
            nic(f"{domain}:24:00.0", below=f"{domain}:22:04.0"),
        )
    ]
    host.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate(functions)))
    judged = ("--from", tmp_path, "--profile", "gpu-rdma", "--mode", "vm", "--json")

    before = pcietune("audit", *judged)
    applied = pcietune("apply", *judged, "--in-place")

    ports = [f"{domain}:22:04.0" for domain in domains]
    assert before.failing() == {("port.nic-side.DirectTrans", port) for port in ports}
    finding = before.finding("port.nic-side.DirectTrans", "deadbeef:22:04.0")
    assert finding.subject.path == "deadbeef:20:01.0/00.0/04.0"
    assert applied.exit_code == 0
    assert [write.address for write in applied.document().writes] == ports
