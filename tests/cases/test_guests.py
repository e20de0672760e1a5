"""Public reports on VMs: what is planned instead, and what a check in them finds.

What ``pcietune paths`` says of the same reports is in ``test_paths_guests``.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cases.guest_addresses import behind_an_iommu
from cli.in_process import Pcietune, Run
from guest.check.vm import passed_function, vm_of
from trees.config import ENDPOINT, ROOT_PORT, ConfigBuilder
from trees.function import (
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
)
from trees.groups import into_group
from trees.machines import one_switch
from trees.nodes import add_node

from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan, plan_text

UPSTREAM, NIC_PORT = "0000:21:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
INSIDE = ("0000:01:00.0", "0000:02:00.0")
MADE = "0000:25:00.0"
JUDGED = ("--profile", "gpu-rdma", "--mode", "vm", "--mig", "off", "--memory", "8G", "--cpus", "4")
TUNED = downstream_port(NIC_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, 0x005D))


def _planned(pcietune: Pcietune, host: Path, *options: str | Path) -> Plan:
    """Return the plan of a VM, of one GPU unless the options name functions."""
    count = () if "--function" in options else ("--gpus", "1")
    run = pcietune("guest", "plan", *count, *JUDGED, *options, "--json", "--from", host)
    assert run.exit_code == 0, run.stderr
    return parse_plan(run.stdout, "the plan")


def _host(root: Path) -> Path:
    """Return a host whose GPU and NIC share a switch, with DirectTrans on, and which has a node."""
    tree = one_switch(root, driver="vfio-pci", instead=[TUNED])
    add_node(tree, 0, cpus="0-7")
    return root


def _check(
    pcietune: Pcietune, plan: Plan, functions: Iterable[Function], root: Path, *more: str | Path
) -> Run:
    """Check a VM that has these functions, and the CPUs and memory of its plan."""
    (root / "plan.json").write_text(plan_text(plan))
    replace(vm_of(plan), functions=tuple(functions)).write(root / "vm")
    return pcietune("guest", "check", root / "plan.json", "--from", root / "vm", *more)


# NVIDIA/nccl-tests#256 (C02): ATS is on in the VM's ConnectX-7, NUMA hidden, no switch to be seen.


def _apart(plan: Plan) -> list[Function]:
    """Return a VM whose GPU and NIC have a root port each, and no NUMA node."""
    ports = [
        Function(f"0000:00:0{n}.0", ConfigBuilder("1b36:000c", 0x060400).express(ROOT_PORT))
        for n in (1, 2)
    ]
    functions = [
        replace(passed_function(plan, passed), address=address, below=port.address)
        for passed, address, port in zip(plan.functions, INSIDE, ports, strict=True)
    ]
    hidden = {"numa_node": "-1"}
    return [*ports, *(replace(f, attributes=f.attributes | hidden) for f in functions)]


def test_topology_and_numa_are_the_gap_ats_is_not_and_the_host_is_not_judged(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    plan = _planned(pcietune, _host(tmp_path / "host"))
    run = _check(pcietune, plan, _apart(plan), tmp_path)

    assert run.exit_code == 3
    assert "no emulated switch is above it, so that to NCCL GPU and NIC are far apart" in run.stdout
    assert "gpu0: NUMA node none (-1), planned 0" in run.stdout
    assert "pass  nic0: id, class, BARs, link, ATS capability" in run.stdout
    assert "DirectTrans cannot be seen from here: pcietune audit on the host" in run.stdout


def test_a_file_with_an_invented_switch_fills_the_gap_of_that_vm(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    plan = _planned(pcietune, _host(tmp_path / "host"))
    _check(pcietune, plan, _apart(plan), tmp_path)
    named = (f"gpu0={INSIDE[0]}", f"nic0={INSIDE[1]}")
    addresses = [word for each in named for word in ("--address", each)]
    written = pcietune("guest", "nccl", tmp_path / "plan.json", "--invent", *addresses)
    (tmp_path / "topology.xml").write_text(written.stdout)
    file = tmp_path / "topology.xml"
    run = pcietune(
        "guest", "check", tmp_path / "plan.json", "--from", tmp_path / "vm", "--topology", file
    )

    assert f"pass  {file}: topology file" in run.stdout
    assert pcietune("guest", "nccl", "--check", file).exit_code == 0


# NVIDIA/nccl#811 (C06): a VF and five A100 on the root bus of a VM, as conventional PCI.


def test_a_flat_vm_is_told_why_its_ats_and_its_nccl_are_lost(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    plan = _planned(pcietune, _host(tmp_path / "host"))
    flat = [
        Function(address, ConfigBuilder(each.id, int(each.class_code, 16)).cut(256))
        for each, address in zip(plan.functions, ("0000:00:0a.0", "0000:00:09.0"), strict=True)
    ]
    run = _check(pcietune, plan, flat, tmp_path)

    assert run.exit_code == 3
    assert "flat on root bus 0000:00, without a port of its own" in run.stdout
    assert "ATS cannot be used" in run.stdout
    assert "note  the ATS of nic0 is hidden from the VM" in run.stdout


def test_a_topology_file_with_a_nic_on_the_root_bus_is_refused(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    """NCCL rounds 0000:00:09.0 to 0000:00:00.0, the host bridge."""
    file = tmp_path / "topology.xml"
    file.write_text(
        '<system version="1">\n<cpu numaid="-1">\n'
        '<pci busid="0000:00:09.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"/>\n'
        "</cpu>\n</system>\n"
    )
    run = pcietune("guest", "nccl", "--check", file)

    assert run.exit_code == 3
    assert f"{file}:2:6: warning [numaid]" in run.stdout
    assert f"{file}:3:6: error [root-bus]: the NIC 0000:00:09.0 is on the root bus" in run.stdout


def test_no_function_is_ever_planned_onto_a_root_bus(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host(tmp_path / "host")

    for layout in ("switches", "ports"):
        plan = _planned(pcietune, host, "--layout", layout)
        parents = [plan.bridge(passed.parent) for passed in plan.functions]
        assert None not in parents
        assert {each.guest_address[8:] for each in plan.functions} == {"00.0"}


# NVIDIA/nccl#1205 (C10): Relaxed Ordering matters only with ACS and ATS, so for VMs.


def test_relaxed_ordering_is_recommended_to_a_vm_with_a_nic_and_only_there(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _host(tmp_path / "host")
    for name, options in (("with", ()), ("without", ("--nics", "0"))):
        (tmp_path / name).write_text(plan_text(_planned(pcietune, host, *options)))

    said = {
        name: pcietune("guest", "nccl", tmp_path / name, "--env", "conf").stdout
        for name in ("with", "without")
    }
    assert "NCCL_IB_PCI_RELAXED_ORDERING=1" in said["with"].splitlines()
    assert "NCCL_IB_PCI_RELAXED_ORDERING" not in said["without"]


# noonghunna/club-3090#890, lxc/incus#3962 (C12): QEMU's switch allows no peer-to-peer, a capability
# of NVIDIA's does.


def _two_gpus(root: Path) -> Path:
    tree = one_switch(root, driver="vfio-pci", instead=[TUNED])
    port = downstream_port("0000:22:08.0", below=UPSTREAM)
    second = gpu(MADE, below=port.address, driver="vfio-pci")
    tree.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate((port, second), start=6)))
    return root


def test_a_common_switch_in_the_vm_promises_two_gpus_nothing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _two_gpus(tmp_path / "host")
    options = ("--function", GPU, "--function", MADE, "--qemu", "8.1")
    plan = _planned(pcietune, host, *options)
    vouching = _planned(pcietune, host, *options, "--clique")

    (without,), (with_word,) = (
        [pair for pair in each.pairs if (pair.one, pair.other) == ("gpu0", "gpu1")]
        for each in (plan, vouching)
    )
    assert without.means == "shared memory"
    assert with_word.means == "PCIe peer-to-peer"
    assert any("all_reduce_perf -c 1" in each for each in with_word.not_known)


def test_in_the_vm_the_capability_is_looked_for_and_not_the_tree(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _two_gpus(tmp_path / "host")
    options = ("--function", GPU, "--function", MADE, "--qemu", "8.1")
    vouching = _planned(pcietune, host, *options, "--clique")
    silent = msgspec.structs.replace(
        vouching,
        functions=[msgspec.structs.replace(each, clique=None) for each in vouching.functions],
    )

    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    with_word = _check(pcietune, vouching, vm_of(vouching).functions, tmp_path / "with")
    without = _check(pcietune, vouching, vm_of(silent).functions, tmp_path / "without")
    assert with_word.exit_code == 0
    assert without.exit_code == 3
    assert "gpu0: clique none, planned 0" in without.stdout


# kata-containers#13433 (C14): a mask took 0680, an NVSwitch, for 0600, a host bridge.


def _with_fellow(
    root: Path, class_code: int, driver: str | None = None, *, apart: bool = False
) -> Path:
    """Return a host in whose GPU's IOMMU group another function is, with an NVSwitch's id."""
    tree = one_switch(root, driver="vfio-pci", instead=[TUNED])
    port = replace(downstream_port("0000:22:08.0", below=UPSTREAM), group=6, iommu="dmar0")
    config = ConfigBuilder("10de:22a3", class_code).express(ENDPOINT)
    fellow = Function(MADE, config, below=port.address, group=7, iommu="dmar0", driver=driver)
    tree.add(port, fellow)
    if not apart:
        into_group(tree, MADE, 4)
    return root


def test_an_nvswitch_in_the_group_is_a_device_and_a_host_bridge_is_none(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    asked = ("guest", "plan", "--gpus", "1", "--allow-failing", *JUDGED, "--json", "--from")
    with_switch = pcietune(*asked, _with_fellow(tmp_path / "0680", 0x068000))
    with_bridge = pcietune(*asked, _with_fellow(tmp_path / "0600", 0x060000))

    assert with_switch.exit_code == 4
    assert "without tearing an IOMMU group apart" in with_switch.stderr
    assert with_bridge.exit_code == 0


def test_an_nvswitch_of_another_driver_makes_the_group_not_viable(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _with_fellow(tmp_path, 0x068000, driver="nvidia-nvswitch")
    run = pcietune("groups", "--profile", "gpu-rdma", "--from", host)

    assert f"bind {MADE} too: nvidia-nvswitch has it" in run.stdout


def test_an_nvswitch_is_given_to_a_vm_as_what_it_is(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _with_fellow(tmp_path / "host", 0x068000, driver="vfio-pci", apart=True)
    plan = _planned(pcietune, host, "--function", GPU, "--function", MADE, "--nvswitch", "full")
    switch = next(each for each in plan.functions if each.kind is Kind.NVSWITCH)
    lacking = vm_of(plan).without(switch.guest_address)
    as_bridge = ConfigBuilder(switch.id, 0x060000).express(ENDPOINT)
    mistaken = vm_of(plan).changed(switch.guest_address, lambda f: replace(f, config=as_bridge))

    for name in ("whole", "lacking", "mistaken"):
        (tmp_path / name).mkdir()
    whole = _check(pcietune, plan, vm_of(plan).functions, tmp_path / "whole")
    assert (switch.class_code, whole.exit_code) == ("0x068000", 0)
    without = _check(pcietune, plan, lacking.functions, tmp_path / "lacking")
    assert "nvswitch0: not there" in without.stdout
    other = _check(pcietune, plan, mistaken.functions, tmp_path / "mistaken")
    assert "nvswitch0: class 0x060000, planned 0x068000" in other.stdout


# riscv-non-isa/riscv-iommu#720 (C16): with T2GPA, translations are addresses of the guest.


def test_where_translations_may_be_a_guests_addresses_no_direct_way_is_promised(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    unsure, sure = (behind_an_iommu(tmp_path / str(n), known=bool(n)) for n in (0, 1))
    refused = pcietune("guest", "plan", "--gpus", "1", *JUDGED, "--from", unsure)
    (pair,) = _planned(pcietune, unsure, "--allow-failing").pairs
    (direct,) = _planned(pcietune, sure).pairs

    assert refused.exit_code == 4
    assert f"{NIC}: port.nic-side.DirectTrans of {NIC_PORT} is not as wanted" in refused.stderr
    assert "nic.ats is not as wanted" in refused.stderr
    assert (pair.means, pair.bandwidth) == ("not known", "not known")
    assert direct.means == "GPUDirect RDMA"


@pytest.mark.parametrize("known", [True, False])
def test_in_the_vm_the_iommu_of_its_host_is_not_judged(
    pcietune: Pcietune, tmp_path: Path, *, known: bool
) -> None:
    host = behind_an_iommu(tmp_path / "host", known=known)
    plan = _planned(pcietune, host, "--allow-failing")
    run = _check(pcietune, plan, vm_of(plan).functions, tmp_path)

    assert run.exit_code == 0
    assert "DirectTrans cannot be seen from here: pcietune audit on the host" in run.stdout
