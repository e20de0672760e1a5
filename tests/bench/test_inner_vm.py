"""VMs in the bench: planned, bound and started as pcietune says, and seen by a kernel of their own.

The host's ports, IOMMU, VFIO and QEMU are real; only GPUs and NICs are emulated.
"""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.inner_vm import inner_vm, look_only, starting, until_off
from bench.on_guest import audited, states
from bench.planned_vm import (
    View,
    bound_by_the_gate,
    by_host_switch,
    by_vm_switch,
    planned,
    qemu_of,
    view,
)
from bench.vfs import virtual_functions
from pcietune.guest.kinds import Firmware, Kind
from pcietune.guest.plan import Plan

CHECK = ("/usr/bin/python3", "-m", "pcietune", "guest", "check", "/run/vm.json")
SEABIOS = ("--firmware", "seabios")
SMALL = ("--cpus", "1", "--memory", "512M")


@pytest.fixture(autouse=True)
def kvm(guest: Guest) -> None:
    loaded = guest.run("modprobe", "kvm_amd")
    assert loaded.returncode == 0, loaded


@pytest.fixture
def tuned(guest: Guest, untouched: None) -> Iterator[None]:  # noqa: ARG001 -- its order
    """Have the host as its profile wants it, and take from VFIO afterwards what it was given."""
    applied = guest.pcietune("apply", "--mode", "vm")
    assert applied.returncode == 0, applied
    yield
    guest.pcietune("vfio", "unbind", "--all", "--mode", "vm")


@pytest.mark.machine("a800-vm")
@pytest.mark.usefixtures("tuned")
@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_vm_sees_its_functions_where_they_were_planned_and_ats_is_on_while_it_runs(
    guest: Guest, gpus: int
) -> None:
    plan = planned(guest, "/run/vm.json", "--gpus", str(gpus), *SEABIOS, *SMALL)

    _starts_as_planned(guest, plan, gpus)


@pytest.mark.machine("l20-vm")
@pytest.mark.usefixtures("tuned")
def test_a_vm_of_one_gpu_sees_a_vf_of_the_nic_that_two_gpus_share(guest: Guest) -> None:
    with virtual_functions(guest, "nic0", 2) as vfs:
        plan = planned(guest, "/run/vm.json", "--gpus", "1", *SEABIOS, *SMALL)

        assert [f.address for f in plan.functions if f.kind is Kind.NIC] == vfs[:1]
        _starts_as_planned(guest, plan, 1)
        for function in plan.functions:
            guest.pcietune("vfio", "unbind", "--mode", "vm", function.address)


@pytest.mark.machine("a800-vm")
@pytest.mark.usefixtures("tuned")
def test_ovmf_numbers_buses_as_planned_on_both_nodes(guest: Guest) -> None:
    named = [("--function", guest.address(name)) for name in ("gpu0", "nic0", "gpu4", "nic4")]
    options = [word for pair in named for word in pair]
    plan = planned(guest, "/run/vm.json", *options, "--cpus", "2", "--memory", "1G")
    assert (plan.machine.firmware, len(plan.cells)) == (Firmware.OVMF, 2)
    assert bound_by_the_gate(guest, plan).returncode == 0

    qemu = qemu_of(guest, "/run/vm.json", "--tcg")
    with starting(guest, "ovmf", qemu, look_only("ovmf")) as directory:
        told = until_off(guest, directory)

    lines = [line.split() for line in told.splitlines() if line.startswith("pci /")]
    nodes = {path.rpartition("/")[2]: int(node) for _, path, node in lines}
    assert {f.guest_address: f.cell for f in plan.functions}.items() <= nodes.items()
    assert {b.address for b in plan.bridges} <= nodes.keys()


@pytest.mark.machine("a800-vm")
@pytest.mark.usefixtures("tuned")
def test_a_later_plan_gets_nothing_that_an_earlier_one_has(guest: Guest) -> None:
    two = ("--gpus", "2", "--cpus", "1", "--memory", "256M")
    first = planned(guest, "/run/first.json", *two)
    second = planned(guest, "/run/second.json", *two, "--taken", "/run/first.json")

    addresses = [{f.address for f in plan.functions} for plan in (first, second)]
    assert (addresses[0] & addresses[1], [len(each) for each in addresses]) == (set(), [4, 4])
    refused = guest.pcietune(
        *("guest", "plan", "--mode", "vm", "--gpus", "6"),
        *("--taken", "/run/first.json", "--taken", "/run/second.json"),
    )
    assert (refused.returncode, "--gpus 4" in refused.stderr) == (4, True), refused


def _starts_as_planned(guest: Guest, plan: Plan, gpus: int) -> None:
    """Have a plan's VM started, and hold what its kernel and its host see to the plan."""
    assert [f.kind for f in plan.functions].count(Kind.GPU) == gpus
    assert bound_by_the_gate(guest, plan).returncode == 0
    guest.run("sh", "-c", f"{_in_background(guest)} > /run/waited 2>&1 &")

    with inner_vm(guest, plan.machine.name, qemu_of(guest, "/run/vm.json")) as vm:
        _sees_the_plan(guest, plan, view(vm))

        vm.write_file("/run/vm.json", guest.read_file("/run/vm.json"))
        topology = guest.pcietune("guest", "nccl", "/run/vm.json")
        vm.write_file("/run/nccl.xml", topology.stdout.encode())
        checked = vm.run(*CHECK, "--topology", "/run/nccl.xml")
        assert (checked.returncode, "is as planned" in checked.stdout) == (0, True), checked

        _ats_is_judged(guest, plan)
    until_waited = guest.run("sh", "-c", "cat /run/waited /var/lib/pcietune/ats-at-start.jsonl")
    for nic in _nics_with_ats(guest, plan):
        assert f"{nic}: Enable+ (ATSCtl 0x8000)" in until_waited.stdout, until_waited
        assert f'"address":"{nic}"' in until_waited.stdout, until_waited


def _in_background(guest: Guest) -> str:
    path = ":".join(guest.python_path)
    return (
        f"PYTHONPATH={path} /usr/bin/python3 -m pcietune vfio wait-ats"
        " --plan /run/vm.json --record --timeout 240"
    )


def _sees_the_plan(guest: Guest, plan: Plan, seen: View) -> None:
    for function in plan.functions:
        found = seen.functions[function.guest_address]
        assert (found.id, found.numa_node) == (function.id, function.cell), function
    for bridge in plan.bridges:
        assert bridge.address in seen.functions, bridge
    assert by_vm_switch(seen, plan) == by_host_switch(guest, plan)
    assert len(seen.nodes) == len(plan.cells)


def _ats_is_judged(guest: Guest, plan: Plan) -> None:
    """While the VM runs: what the kernel set passes; once it is cleared the audit fails."""
    nics = _nics_with_ats(guest, plan)
    assert nics
    for nic in nics:
        assert guest.run("setpci", "-s", nic, "ECAP_ATS+6.w").stdout == "8000\n"
    paths = {("nic.ats", f.path) for f in plan.functions if f.address in nics}
    before = audited(guest)
    assert (before.exit, paths <= states(before)["pass"]) == (0, True)

    guest.run("setpci", "-s", nics[0], "ECAP_ATS+6.w=0000")
    lost = audited(guest)
    guest.run("setpci", "-s", nics[0], "ECAP_ATS+6.w=8000")

    assert (lost.exit, states(lost)["fail"] & paths) == (
        3,
        {("nic.ats", f.path) for f in plan.functions if f.address == nics[0]},
    )


def _nics_with_ats(guest: Guest, plan: Plan) -> list[str]:
    """Return the NICs of a plan in whose registers lspci finds ATS."""
    nics = [f.address for f in plan.functions if f.kind is Kind.NIC]
    return [n for n in nics if "ATSCtl:" in guest.run("lspci", "-vvv", "-s", n).stdout]
