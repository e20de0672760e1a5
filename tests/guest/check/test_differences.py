"""What is there, and not as planned: the first difference, with what to do."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from guest import plans
from guest.check.seen import checked, checked_tree, differing, why
from guest.check.vm import Node, Vm, passed_function, port, resource, vm_of
from trees.config import ENDPOINT, PCIE_TO_PCI_BRIDGE, ConfigBuilder
from trees.function import Function

from pcietune.errors import ExitCode
from pcietune.guest.check.check import check
from pcietune.guest.check.row import Aspect, Verdict
from pcietune.guest.check.topology_file import TopologyFile
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.plan import Plan
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost

PLAN = plans.a800_two_gpus()
GPU, NIC = "0000:23:00.0", "0000:25:00.0"
GIB = 1 << 30


def _with_firmware(firmware: Firmware) -> Plan:
    return msgspec.structs.replace(
        PLAN, machine=msgspec.structs.replace(PLAN.machine, firmware=firmware)
    )


def _vouching(clique: int | None) -> Plan:
    functions = [
        msgspec.structs.replace(f, clique=clique if f.kind == "gpu" else None)
        for f in PLAN.functions
    ]
    return msgspec.structs.replace(PLAN, functions=functions)


# Missing functions.


def test_a_function_whose_port_is_empty_was_not_passed(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).without(NIC), tmp_path)

    assert differing(result) == [("nic0", Aspect.ADDRESS)]
    cause = why(result, "nic0", Aspect.ADDRESS)
    assert cause.startswith("its port dp2 is there, and empty: 0000:25:00.0 of the host was not")


def test_a_function_whose_port_is_missing_is_laid_to_the_port(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).without("0000:22:02.0"), tmp_path)

    assert why(result, "nic0", Aspect.ADDRESS).startswith(
        "nor is dp2, which the plan has at 0000:22:02.0"
    )


def test_a_vm_with_nothing_of_the_plan_is_called_another(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).without("0000:20:00.0"), tmp_path)

    assert [row.found for row in result.of(Verdict.DIFFERS)] == [None] * 4
    assert "nor are the ports above it (rp0, up0, dp0)" in why(result, "gpu0", Aspect.ADDRESS)
    assert result.notes[0].startswith("nothing of the plan is here: is this another VM")


def test_a_function_that_was_to_be_on_pcie_0_is_looked_for_on_the_host(tmp_path: Path) -> None:
    bare = msgspec.structs.replace(PLAN.functions[0], parent="pcie.0", guest_address="0000:00:10.0")
    plan = msgspec.structs.replace(PLAN, bridges=[], functions=[bare])
    result = checked(plan, Vm((), vm_of(PLAN).nodes), tmp_path)

    assert why(result, "gpu0", Aspect.ADDRESS).startswith("0000:23:00.0 of the host was not passed")


# What the plan has not.


@pytest.mark.parametrize(
    ("identity", "class_code", "kind"),
    [
        ("10de:2330", 0x030200, "gpu"),
        ("15b3:101b", 0x020000, "nic"),
        ("1d0f:efa1", 0x020700, "nic"),
        ("10de:22a3", 0x068000, "nvswitch"),
        ("10de:22a3", 0x060000, None),  # another class is another device (kata-containers#13433)
        ("1af4:1041", 0x020000, None),  # virtio
        ("1234:1111", 0x030000, None),  # QEMU's VGA
        ("144d:a80a", 0x010802, None),  # a disk
    ],
)
def test_only_what_a_plan_gives_is_counted_as_unplanned(
    tmp_path: Path, identity: str, class_code: int, kind: str | None
) -> None:
    extra = Function("0000:00:1e.0", ConfigBuilder(identity, class_code).express(ENDPOINT))
    result = checked(PLAN, vm_of(PLAN).plus(extra), tmp_path)

    unplanned = [row.found for row in result.rows if row.aspect is Aspect.UNPLANNED]
    assert unplanned == ([] if kind is None else [f"{kind} {identity}"])


# NUMA.


def test_a_function_without_a_node_is_laid_to_its_expander(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).showing(GPU, numa_node="-1"), tmp_path)

    assert differing(result) == [("gpu0", Aspect.NODE)]
    assert why(result, "gpu0", Aspect.NODE).startswith("expander pxb0 above it tells no node")


def test_a_function_near_to_another_node_is_found(tmp_path: Path) -> None:
    four = plans.a800_four_gpus_on_two_nodes()
    result = checked(four, vm_of(four).showing("0000:43:00.0", numa_node="0"), tmp_path)

    (row,) = result.of(Verdict.DIFFERS)
    assert (row.subject, row.planned, row.found) == ("gpu2", "1", "0")


def test_a_function_for_which_no_node_is_planned_may_have_any(tmp_path: Path) -> None:
    functions = [msgspec.structs.replace(f, cell=None) for f in PLAN.functions]
    plan = msgspec.structs.replace(PLAN, functions=functions)

    assert checked(plan, vm_of(plan), tmp_path).exit_code is ExitCode.OK


_NODE = vm_of(PLAN).nodes[0]


@pytest.mark.parametrize(
    ("nodes", "subject", "aspect"),
    [
        ({0: _NODE, 1: _NODE}, "VM", Aspect.NODES),
        ({0: replace(_NODE, cpus="0-6")}, "node 0", Aspect.CPUS),
        ({0: replace(_NODE, cpus="0-8")}, "node 0", Aspect.CPUS),
        ({0: replace(_NODE, memory_kib=32 << 20)}, "node 0", Aspect.MEMORY),
        ({0: replace(_NODE, memory_kib=65 << 20)}, "node 0", Aspect.MEMORY),
    ],
)
def test_other_nodes_cpus_and_memory_are_found(
    tmp_path: Path, nodes: Mapping[int, Node], subject: str, aspect: Aspect
) -> None:
    result = checked(PLAN, replace(vm_of(PLAN), nodes=nodes), tmp_path)

    assert differing(result) == [(subject, aspect)]


@pytest.mark.parametrize("planned_mib", [256, 1024, 65536])
def test_what_the_kernel_keeps_to_itself_is_no_difference(tmp_path: Path, planned_mib: int) -> None:
    cells = [msgspec.structs.replace(PLAN.cells[0], memory_mib=planned_mib)]
    plan = msgspec.structs.replace(PLAN, cells=cells)
    # Page structs (64 bytes of 4096), text, and bounce buffers: as the bench's kernels show it.
    shown = planned_mib * 1024 * 63 // 64 - (64 << 10)
    half = planned_mib * 1024 // 2

    vm = vm_of(plan)
    fine = replace(vm, nodes={0: replace(vm.nodes[0], memory_kib=shown)})
    less = replace(vm, nodes={0: replace(vm.nodes[0], memory_kib=half - 1)})
    assert differing(checked(plan, fine, tmp_path / "fine")) == []
    assert differing(checked(plan, less, tmp_path / "less")) == [("node 0", Aspect.MEMORY)]


def test_numa_off_is_told_from_a_vm_without_cells(tmp_path: Path) -> None:
    four = plans.a800_four_gpus_on_two_nodes()
    vm = replace(vm_of(four), nodes={0: Node("0-15", 120 << 20)})
    vm.write(tmp_path / "off").put("proc/cmdline", "ro numa=off quiet")

    off, without = checked_tree(four, tmp_path / "off"), checked(four, vm, tmp_path / "without")
    assert why(off, "VM", Aspect.NODES).startswith("numa=off is on the VM's kernel command line")
    assert "-numa arguments" in why(without, "VM", Aspect.NODES)


def test_a_kernel_without_numa_is_not_known_to_have_the_cells(tmp_path: Path) -> None:
    result = checked(PLAN, replace(vm_of(PLAN), nodes={}), tmp_path)

    (row,) = result.of(Verdict.NOT_KNOWN)
    assert (row.subject, row.aspect) == ("VM", Aspect.NODES)
    assert result.exit_code is ExitCode.UNREADABLE


# Links.


def test_the_link_of_a_port_is_what_qemu_was_told(tmp_path: Path) -> None:
    vm = vm_of(PLAN).showing("0000:20:00.0", max_link_width="32")  # QEMU's default
    result = checked(PLAN, vm, tmp_path)

    (row,) = result.of(Verdict.DIFFERS)
    assert (row.subject, row.planned, row.found) == (
        "rp0",
        "16.0 GT/s PCIe x16",
        "16.0 GT/s PCIe x32",
    )
    assert row.why.startswith("x-speed and x-width")


@pytest.mark.parametrize(("speed", "differs"), [("2_5", True), ("16", False), ("fast", True)])
def test_the_speed_of_a_port_is_read_as_qemu_takes_it(
    tmp_path: Path, speed: str, *, differs: bool
) -> None:
    bridges = [
        msgspec.structs.replace(each, speed=speed) if each.name == "rp0" else each
        for each in PLAN.bridges
    ]
    plan = msgspec.structs.replace(PLAN, bridges=bridges)

    assert bool(differing(checked(plan, vm_of(PLAN), tmp_path))) is differs


def test_a_link_faster_than_planned_is_no_difference(tmp_path: Path) -> None:
    vm = vm_of(PLAN).showing(GPU, max_link_speed="32.0 GT/s PCIe")  # below a slower port

    assert differing(checked(PLAN, vm, tmp_path)) == []


def _without_link(plan: Plan, vm: Vm, name: str) -> Vm:
    """Return a VM in which QEMU shows no link of a function, as on a root bus."""
    passed = plan.function(name)
    made = passed_function(plan, msgspec.structs.replace(passed, link_speed=None))
    vm = vm.changed(passed.guest_address, lambda f: replace(f, config=made.config))
    return vm.showing(passed.guest_address, max_link_speed="Unknown", max_link_width="0")


def test_a_link_that_is_not_shown_is_not_known_and_of_a_vf_not_compared(tmp_path: Path) -> None:
    plan = plans.l20_one_gpu_and_a_vf()
    vm = _without_link(plan, _without_link(plan, vm_of(plan), "gpu0"), "nic0")
    result = checked(plan, vm, tmp_path)

    assert [row.subject for row in result.of(Verdict.NOT_KNOWN)] == ["gpu0"]
    links = {row.subject for row in result.rows if row.aspect is Aspect.LINK}
    assert "nic0" not in links


def test_a_port_without_a_link_is_not_known_to_be_as_planned(tmp_path: Path) -> None:
    bare = port(BridgeKind.ROOT_PORT, "0000:20:00.0", None, ("Unknown", 0))
    result = checked(PLAN, vm_of(PLAN).changed("0000:20:00.0", lambda _: bare), tmp_path)

    assert [row.subject for row in result.of(Verdict.NOT_KNOWN)] == ["rp0"]


def test_links_that_sysfs_does_not_tell_are_read_from_registers(tmp_path: Path) -> None:
    tree = vm_of(PLAN).write(tmp_path)
    for address in (GPU, "0000:20:00.0"):
        (tree.directory(address) / "max_link_speed").unlink()
    result = checked_tree(PLAN, tmp_path)

    assert result.exit_code is ExitCode.OK


def test_a_link_that_runs_narrow_is_noted(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).showing(NIC, current_link_width="8"), tmp_path)

    assert result.exit_code is ExitCode.OK
    assert "the link of nic0 runs 8 lanes wide, and could 16" in result.notes[0]


def test_another_bridge_in_place_of_a_port_is_not_held_to_its_link(tmp_path: Path) -> None:
    other = ConfigBuilder("1b36:000e", 0x060400).express(PCIE_TO_PCI_BRIDGE)
    vm = vm_of(PLAN).changed("0000:20:00.0", lambda f: replace(f, config=other))
    result = checked(PLAN, vm.showing("0000:20:00.0", max_link_width="1"), tmp_path)

    assert ("rp0", Aspect.LINK) not in {(row.subject, row.aspect) for row in result.rows}
    assert ("gpu0", Aspect.PORTS) in differing(result)


# Capabilities.


def test_ats_that_is_hidden_is_a_note_and_no_difference(tmp_path: Path) -> None:
    hidden = msgspec.structs.replace(PLAN.function("nic0"), ats=False)
    made = passed_function(PLAN, hidden)
    vm = vm_of(PLAN).changed(NIC, lambda f: replace(f, config=made.config))
    result = checked(PLAN, vm, tmp_path)

    assert result.exit_code is ExitCode.OK
    assert ("nic0", Aspect.ATS) not in {(row.subject, row.aspect) for row in result.rows}
    assert result.notes[0].startswith("the ATS of nic0 is hidden from the VM")


def test_ats_that_came_since_the_plan_is_noted(tmp_path: Path) -> None:
    functions = [msgspec.structs.replace(f, ats=False) for f in PLAN.functions]
    plan = msgspec.structs.replace(PLAN, functions=functions)
    result = checked(plan, vm_of(PLAN), tmp_path)

    assert result.exit_code is ExitCode.OK
    assert result.notes[0].startswith("nic0 has ATS, and had none when it was planned")


@pytest.mark.parametrize(
    ("planned", "given", "begins"),
    [
        (None, 0, "the hypervisor vouches for PCIe peer-to-peer, which the plan does not"),
        (0, None, "x-nv-gpudirect-clique was not given"),
        (0, 3, "x-nv-gpudirect-clique was not given, or with another number"),
    ],
)
def test_a_word_of_the_hypervisor_is_the_planned_one_or_differs(
    tmp_path: Path, planned: int | None, given: int | None, begins: str
) -> None:
    result = checked(_vouching(planned), vm_of(_vouching(given)), tmp_path)

    assert differing(result) == [("gpu0", Aspect.CLIQUE), ("gpu1", Aspect.CLIQUE)]
    assert why(result, "gpu0", Aspect.CLIQUE).startswith(begins)


@pytest.mark.parametrize(
    "body", [b"\x08P2P\x08", b"\x07P2P\0\0", b"\x08P2Q\0\0", b"\x08P2P\x01\0", b"\x08PCI\0\0"]
)
def test_no_other_bytes_are_taken_for_the_planned_clique(tmp_path: Path, body: bytes) -> None:
    """Length, signature, version 0 and clique 0, by QEMU's vfio_add_nv_gpudirect_cap."""
    config = ConfigBuilder("10de:20f3", 0x030200).express(ENDPOINT).capability(0x09, body)
    vm = vm_of(_vouching(0)).changed(GPU, lambda f: replace(f, config=config))

    assert differing(checked(_vouching(0), vm, tmp_path)) == [("gpu0", Aspect.CLIQUE)]


# BARs.


@pytest.mark.parametrize(
    ("firmware", "argument"),
    [
        (Firmware.OVMF, "-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=1048576"),
        (Firmware.SEABIOS, "-global q35-pcihost.pci-hole64-size=1048576M"),
    ],
)
def test_a_large_bar_that_did_not_fit_names_the_window(
    tmp_path: Path, firmware: Firmware, argument: str
) -> None:
    plan = _with_firmware(firmware)
    vm = vm_of(plan).showing(GPU, resource=resource([32 << 20], [16 << 20]))
    result = checked(plan, vm, tmp_path)

    (row,) = result.of(Verdict.DIFFERS)
    assert (row.planned, row.found) == ("128 GiB + 32 MiB + 16 MiB", "32 MiB + 16 MiB")
    assert row.why.startswith("128 GiB has no address: the VM's 64-bit window is too small")
    assert argument in row.why


def test_a_bar_that_is_not_set_is_as_good_as_none(tmp_path: Path) -> None:
    text = resource([128 * GIB, 32 << 20], [16 << 20]).splitlines()
    text[0] = f"{0:#018x} {128 * GIB - 1:#018x} {0x2014220C:#018x}"  # IORESOURCE_UNSET
    result = checked(PLAN, vm_of(PLAN).showing(GPU, resource="\n".join(text)), tmp_path)

    assert differing(result) == [("gpu0", Aspect.BARS)]


def test_a_small_bar_without_an_address_names_the_other_window(tmp_path: Path) -> None:
    vm = vm_of(PLAN).showing(GPU, resource=resource([128 * GIB, 32 << 20], []))
    result = checked(PLAN, vm, tmp_path)

    assert "below 4 GiB is full" in why(result, "gpu0", Aspect.BARS)


def test_a_bar_of_another_size_is_no_bar_without_an_address(tmp_path: Path) -> None:
    vm = vm_of(PLAN).showing(GPU, resource=resource([256 << 20, 32 << 20], [16 << 20]))
    result = checked(PLAN, vm, tmp_path)

    assert "of another size: was it resized" in why(result, "gpu0", Aspect.BARS)


def test_bars_that_were_not_known_only_have_to_have_addresses(tmp_path: Path) -> None:
    functions = [msgspec.structs.replace(f, bars_64=[], bars_32=[]) for f in PLAN.functions]
    plan = msgspec.structs.replace(PLAN, functions=functions)
    rows = resource([128 * GIB], []).splitlines()
    unset = [f"{0:#018x} {128 * GIB - 1:#018x} {0x2014220C:#018x}", *rows[1:]]

    right = checked(plan, vm_of(PLAN), tmp_path / "right")
    wrong = checked(plan, vm_of(PLAN).showing(GPU, resource="\n".join(unset)), tmp_path / "wrong")
    assert right.exit_code is ExitCode.OK
    assert "128 GiB has no address: the VM's 64-bit" in why(wrong, "gpu0", Aspect.BARS)


def test_i_o_ports_without_an_address_are_nobodys_loss(tmp_path: Path) -> None:
    rows = resource([128 * GIB, 32 << 20], [16 << 20]).splitlines()
    rows[5] = f"{0:#018x} {0x7F:#018x} {0x20040101:#018x}"
    result = checked(PLAN, vm_of(PLAN).showing(GPU, resource="\n".join(rows)), tmp_path)

    assert result.exit_code is ExitCode.OK


@pytest.mark.parametrize("text", ["", "0x0 0x0 0x0"])
def test_a_resource_that_makes_no_sense_is_not_known(tmp_path: Path, text: str) -> None:
    result = checked(PLAN, vm_of(PLAN).showing(GPU, resource=text), tmp_path)

    (row,) = result.of(Verdict.NOT_KNOWN)
    assert (row.subject, row.aspect) == ("gpu0", Aspect.BARS)


# What cannot be read.


def test_a_function_that_does_not_answer_is_not_known(tmp_path: Path) -> None:
    broken = ConfigBuilder("10de:20f3", 0x030200).all_ones()
    vm = vm_of(PLAN).changed(GPU, lambda f: replace(f, config=broken))
    result = checked(PLAN, vm, tmp_path)

    (row,) = result.of(Verdict.NOT_KNOWN)
    assert (row.subject, row.aspect) == ("gpu0", Aspect.CLIQUE)
    assert row.error is not None
    assert result.exit_code is ExitCode.UNREADABLE


def test_capabilities_behind_64_bytes_are_not_known(tmp_path: Path) -> None:
    vm = vm_of(_vouching(0))
    for address in (GPU, NIC):
        vm.at(address).config.cut(64)
    result = checked(_vouching(0), vm, tmp_path)

    unread = [(row.subject, row.aspect) for row in result.of(Verdict.NOT_KNOWN)]
    assert unread == [("gpu0", Aspect.CLIQUE), ("nic0", Aspect.ATS)]
    assert result.exit_code is not ExitCode.OK


def test_nothing_of_a_function_that_vanishes_meanwhile_passes(tmp_path: Path) -> None:
    tree = vm_of(PLAN).write(tmp_path)
    host = SysfsHost(HostFiles(tmp_path, recorded=True))
    host.functions()
    shutil.rmtree(tree.directory(NIC))
    shutil.rmtree(tree.directory("0000:20:00.0"))
    result = check(PLAN, host, TopologyFile("t.xml", "--topology", '<system version="1"/>'))

    unread = {(row.subject, row.aspect) for row in result.of(Verdict.NOT_KNOWN)}
    assert unread >= {
        ("nic0", Aspect.NODE),
        ("nic0", Aspect.LINK),
        ("nic0", Aspect.ATS),
        ("nic0", Aspect.BARS),
        ("rp0", Aspect.LINK),
        ("gpu0", Aspect.CLIQUE),
    }
    assert not {row.subject for row in result.of(Verdict.PASS)} & {"rp0"}


def test_a_node_that_leads_out_of_a_recording_is_not_known(tmp_path: Path) -> None:
    vm_of(PLAN).write(tmp_path / "vm")
    nodes = tmp_path / "vm/sys/devices/system/node"
    nodes.rename(tmp_path / "elsewhere")
    nodes.symlink_to(tmp_path / "elsewhere")
    result = check(
        PLAN,
        SysfsHost(HostFiles(tmp_path / "vm", recorded=True)),
        TopologyFile("t.xml", "--topology", '<system version="1"/>'),
    )

    (row,) = (row for row in result.rows if row.aspect is Aspect.NODES)
    assert (row.verdict, result.exit_code) == (Verdict.NOT_KNOWN, ExitCode.BAD_INPUT)
    assert "leads out of the recorded host" in row.why


def test_a_node_without_a_size_is_not_known_to_be_as_large_as_planned(tmp_path: Path) -> None:
    tree = vm_of(PLAN).write(tmp_path)
    tree.put("sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 5 kB")
    result = checked_tree(PLAN, tmp_path)

    (row,) = result.of(Verdict.NOT_KNOWN)
    assert (row.subject, row.aspect) == ("node 0", Aspect.MEMORY)


def test_a_source_that_does_not_tell_a_functions_node_is_not_known(tmp_path: Path) -> None:
    tree = vm_of(PLAN).write(tmp_path)
    (tree.directory(GPU) / "numa_node").unlink()
    files = HostFiles(tmp_path, recorded=True, complete=False)
    result = check(PLAN, SysfsHost(files))

    unread = [(row.subject, row.aspect) for row in result.of(Verdict.NOT_KNOWN)]
    assert unread == [("gpu0", Aspect.NODE)]


def test_a_plan_without_functions_is_nobodys_host(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(PLAN, functions=[], bridges=[])

    assert checked(plan, Vm((), vm_of(PLAN).nodes), tmp_path).exit_code is ExitCode.OK
