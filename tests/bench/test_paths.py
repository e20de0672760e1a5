"""Ways between GPUs and NICs on a real kernel: what apply changes of them, and what it does not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from bench.guest import Guest
from bench.on_guest import GENERIC, VM, addresses
from bench.vfio import held_by_vfio
from bench.vfs import virtual_functions
from pcietune.report.diff_document import DiffDocument
from pcietune.report.paths_document import FlowDocument, PathsDocument
from pcietune.report.paths_isolation import IsolationDocument

pytestmark = pytest.mark.usefixtures("untouched")

Way = tuple[str, str, str]  # who asks, whom, and the packet
RC, DIRECT = "via root complex", "direct"
TRANS_BLK, REQ_REDIR, UPSTREAM_FWD, DIRECT_TRANS = 0x02, 0x04, 0x10, 0x40  # of ACS Control
A800 = {
    **dict.fromkeys(("nic0", "nic1"), ("gpu0", "gpu1")),
    **dict.fromkeys(("nic2", "nic3"), ("gpu2", "gpu3")),
    **dict.fromkeys(("nic4", "nic5"), ("gpu4", "gpu5")),
    **dict.fromkeys(("nic6", "nic7"), ("gpu6", "gpu7")),
}
L20 = {
    "nic0": ("gpu0", "gpu1"),
    "nic1": ("gpu2", "gpu3"),
    "nic2": ("gpu4", "gpu5"),
    "nic3": ("gpu6", "gpu7"),
}


def shown(guest: Guest, *arguments: str) -> PathsDocument:
    return msgspec.json.decode(
        guest.pcietune("paths", "--json", *arguments).stdout, type=PathsDocument
    )


def ends(whole: PathsDocument) -> dict[Way, str]:
    """Return where each packet of both directions of every pair ends up."""
    return {
        (flow.requester, flow.completer, trace.packet): trace.outcome
        for pair in whole.pairs
        for flow in (pair.now.forth, pair.now.back)
        for trace in (flow.write, flow.read, flow.completion)
    }


def changes(guest: Guest, *arguments: str, vfs: bool = False) -> dict[Way, tuple[str, str]]:
    """Apply; return the ways that end otherwise than before."""
    looking = (*VM, *arguments, *(("--vfs",) if vfs else ()))
    before = ends(shown(guest, *looking))
    guest.pcietune("apply", *VM, *arguments)
    after = ends(shown(guest, *looking))
    assert before.keys() == after.keys()
    return {way: (before[way], after[way]) for way in before if before[way] != after[way]}


def requests(guest: Guest, pairs: Mapping[str, Sequence[str]]) -> dict[Way, tuple[str, str]]:
    """Return that NICs' requests to GPUs become direct: writes, and what they ask to read."""
    return {
        way: (RC, DIRECT)
        for nic, gpus in pairs.items()
        for way in asked_by(guest, guest.address(nic), gpus)
    }


def asked_by(guest: Guest, nic: str, gpus: Sequence[str]) -> list[Way]:
    """Return the ways of the requests of a function, given by address, to GPUs."""
    packets = ("posted write", "read request")
    return [(nic, guest.address(gpu), packet) for gpu in gpus for packet in packets]


@contextmanager
def acs(guest: Guest, port: str, bit: int, *, on: bool) -> Iterator[None]:
    """Have a bit of a port's ACS Control otherwise for a while, set by hand."""
    address = guest.address(port)
    before = int(guest.run("setpci", "-s", address, "ECAP_ACS+6.w").stdout, 16)
    assert bool(before & bit) is not on
    guest.run("setpci", "-s", address, f"ECAP_ACS+6.w={bit if on else 0:04x}:{bit:04x}")
    try:
        yield
    finally:
        guest.run("setpci", "-s", address, f"ECAP_ACS+6.w={before & bit:04x}:{bit:04x}")


def acs_control(guest: Guest, address: str) -> set[str]:
    """Return lspci's words for a port's ACS Control."""
    shown_by_lspci = guest.run("lspci", "-vvv", "-s", address).stdout
    (line,) = (line for line in shown_by_lspci.splitlines() if "ACSCtl:" in line)
    return set(line.split()[1:])


def flow(guest: Guest, requester: str, completer: str, *arguments: str) -> FlowDocument:
    """Return what one function's requests to another are shown to do now."""
    asked = (guest.address(requester), guest.address(completer))
    (pair,) = shown(guest, *asked, *arguments).pairs
    (found,) = (f for f in (pair.now.forth, pair.now.back) if f.requester == asked[0])
    return found


@pytest.mark.machine("a800")
def test_each_nics_requests_to_the_gpus_of_its_switch_become_direct_and_no_others(
    guest: Guest,
) -> None:
    assert changes(guest) == requests(guest, A800)


@pytest.mark.machine("cascade")
def test_in_a_cascade_the_nics_requests_become_direct_in_both_leaves(guest: Guest) -> None:
    assert changes(guest, *GENERIC) == requests(guest, {"nic0": ("gpu0", "gpu1")})


@pytest.mark.machine("no-dt")
def test_behind_a_switch_that_cannot_and_in_a_group_rolled_back_nothing_changes(
    guest: Guest,
) -> None:
    pairs = {"nic1": ("gpu0",), "nic4": ("gpu2",), "nic5": ("gpu2",)}
    assert changes(guest, *GENERIC) == requests(guest, pairs)


@pytest.mark.machine("no-iommu", "no-device-tlb")
def test_without_translations_apply_makes_nothing_direct(guest: Guest) -> None:
    assert changes(guest, *GENERIC) == {}
    ways = ends(shown(guest, *VM, *GENERIC))
    assert not [way for way in ways if ways[way] == DIRECT and way[2] != "read completion"]


@pytest.mark.machine("l20")
def test_virtual_functions_requests_become_direct_to_the_gpus_of_their_switch(guest: Guest) -> None:
    with virtual_functions(guest, "nic0", 2) as vfs:
        folded = shown(guest, *VM).peers
        found = changes(guest, vfs=True)

    ways = [way for vf in vfs for way in asked_by(guest, vf, ("gpu0", "gpu1"))]
    assert found == dict.fromkeys(ways, (RC, DIRECT)) | requests(guest, L20)
    stand_ins = {p.address: p.virtual_functions for p in folded if p.address in vfs}
    assert stand_ins == {vfs[0]: 1}  # the other, which sends alike


@pytest.mark.machine("a800")
def test_diff_names_the_ports_that_apply_set_and_the_ways_that_it_made_direct(guest: Guest) -> None:
    guest.pcietune("record", "/run/before.tar")
    guest.pcietune("apply", *VM)
    guest.pcietune("record", "/run/after.tar")

    found = guest.pcietune("diff", "/run/before.tar", "/run/after.tar", *VM, "--json")

    assert found.returncode == 3
    differences = msgspec.json.decode(found.stdout, type=DiffDocument).differences
    of_registers = {
        (d.kind, d.subject.before, d.before, d.after) for d in differences if d.to is None
    }
    assert of_registers == {
        ("acs", port, "DirectTrans-", "DirectTrans+")
        for port in addresses(guest, *(f"port{n}" for n in (2, 3, 6, 7, 10, 11, 14, 15)))
    }
    ways = {
        (d.subject.before, d.to.before, d.name): (d.before, d.after) for d in differences if d.to
    }
    assert ways == {
        (guest.address(nic), guest.address(gpu), packet): (RC, DIRECT)
        for nic, gpus in A800.items()
        for gpu in gpus
        for packet in ("write", "read request")
    }


@pytest.mark.machine("a800")
def test_a_recording_shows_the_ways_that_the_host_shows(guest: Guest) -> None:
    guest.pcietune("record", "/run/host.tar")

    assert shown(guest, *VM, "--from", "/run/host.tar") == shown(guest, *VM)


@pytest.mark.machine("l20")
def test_a_recording_shows_the_ways_of_virtual_functions_too(guest: Guest) -> None:
    with virtual_functions(guest, "nic0", 2):
        guest.pcietune("record", "/run/host.tar")
        live = shown(guest, *VM, "--vfs")

    assert shown(guest, *VM, "--vfs", "--from", "/run/host.tar") == live


@pytest.mark.machine("small")
def test_the_port_and_bits_are_named_as_lspci_shows_them(guest: Guest) -> None:
    port = guest.address("port1")
    ends = (guest.address("nic0"), guest.address("gpu0"))

    before = guest.pcietune("paths", *ends, *VM, *GENERIC).stdout
    lspci_before = acs_control(guest, port)
    guest.pcietune("apply", *VM, *GENERIC)
    after = guest.pcietune("paths", *ends, *VM, *GENERIC).stdout

    assert {"DirectTrans-", "ReqRedir+"} <= lspci_before
    assert f"translated: {RC}: {port} DirectTrans- ReqRedir+: " in before
    assert f"to make it direct: {port} DirectTrans+" in before
    assert "DirectTrans+" in acs_control(guest, port)
    assert f"translated: {DIRECT}: {port}: " in after
    assert re.search(rf"{port} +downstream port +DirectTrans\+ +turns it across", after)


@pytest.mark.machine("small")
def test_translation_blocking_of_the_nics_port_blocks_what_is_direct_without(guest: Guest) -> None:
    guest.pcietune("apply", *VM, *GENERIC)
    assert flow(guest, "nic0", "gpu0", *VM).write.outcome == DIRECT

    with acs(guest, "port1", TRANS_BLK, on=True):
        write = flow(guest, "nic0", "gpu0", *VM).write
        shown_by_lspci = acs_control(guest, guest.address("port1"))

    assert (write.outcome, write.at, write.control) == (
        "blocked",
        guest.address("port1"),
        "TransBlk",
    )
    assert "TransBlk+" in shown_by_lspci


@pytest.mark.machine("cascade")
def test_what_a_higher_port_does_not_forward_is_turned_there(guest: Guest) -> None:
    with acs(guest, "top0", UPSTREAM_FWD, on=False):
        in_leaf = flow(guest, "nic0", "gpu0", *VM).write
        across = flow(guest, "nic0", "gpu1", *VM).write

    assert (in_leaf.outcome, in_leaf.at, in_leaf.control) == (
        "turned above",
        guest.address("top0"),
        "UpstreamFwd",
    )
    assert across.outcome == RC


@pytest.mark.machine("small")
def test_others_than_root_are_told_unknown_and_never_direct(guest: Guest) -> None:
    guest.pcietune("apply", *VM, *GENERIC)

    told = guest.pcietune("paths", *VM, *GENERIC, "--json", user="nobody")

    whole = msgspec.json.decode(told.stdout, type=PathsDocument)
    ways = ends(whole)
    both = {guest.address("nic0"), guest.address("gpu0")}
    assert told.returncode == 5
    assert whole.problems
    assert {ways[way] for way in ways if {*way[:2]} == both} == {"unknown"}
    assert DIRECT not in ways.values()


@pytest.mark.machine("small")
def test_what_a_vm_has_open_does_not_reach_the_hosts_own_nic(guest: Guest) -> None:
    before = flow(guest, "gpu0", "nic0")
    with held_by_vfio(guest, guest.address("gpu0")):
        held = flow(guest, "gpu0", "nic0")

    assert (before.write.addressing, before.write.outcome) == ("I/O virtual, the kernel's", RC)
    assert (held.write.addressing, held.write.outcome) == ("guest physical", "blocked")
    assert held.maps_peers is False  # VFIO maps the BARs of the VM's own functions alone


@pytest.mark.machine("small")
def test_a_redirect_that_was_cleared_lets_a_vms_function_reach_another(guest: Guest) -> None:
    nic = guest.address("nic0")
    with acs(guest, "port1", REQ_REDIR, on=False), held_by_vfio(guest, nic):
        told = guest.pcietune("paths", "--isolation", "--json")

    (reach,) = msgspec.json.decode(told.stdout, type=IsolationDocument).reaches
    assert [port.address for port in reach.ports] == [guest.address("port1")]
    assert (reach.reason, reach.apart_by) == ("ReqRedir-", "different IOMMU groups")
    (sender,), (target,) = reach.senders, reach.targets
    assert (sender.address, target.address) == (nic, guest.address("gpu0"))
    assert [vm.split(" ")[0] for vm in sender.vms] == ["python3"]


@pytest.mark.machine("gpu-ats")
def test_a_gpu_with_ats_writes_directly_where_its_own_port_lets_translated_requests_pass(
    guest: Guest,
) -> None:
    guest.pcietune("apply", *VM, *GENERIC)
    assert flow(guest, "nic0", "gpu0", *VM).write.outcome == DIRECT
    assert flow(guest, "gpu0", "nic0", *VM).write.outcome == RC

    with acs(guest, "port0", DIRECT_TRANS, on=True):
        assert flow(guest, "gpu0", "nic0", *VM).write.outcome == DIRECT


@pytest.mark.machine("small")
def test_of_a_gpu_without_ats_nothing_is_made_direct_by_its_port(guest: Guest) -> None:
    with acs(guest, "port0", DIRECT_TRANS, on=True):
        asked = flow(guest, "gpu0", "nic0", *VM)
    assert (asked.translated, asked.write.outcome) == (False, RC)
