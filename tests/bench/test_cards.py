"""NICs of more than one function: what is one card, and where its requests turn towards GPUs."""

import json
from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, clear_ats, set_domain
from bench.on_guest import (
    ACS_CONTROL,
    GENERIC,
    VM,
    addresses,
    audited,
    differences,
    direct_translated,
    document,
    finding,
    weighty,
)

pytestmark = [pytest.mark.machine("cards"), pytest.mark.usefixtures("untouched")]

CONNECTX = ("connectx0", "connectx1")
NICS = (*CONNECTX, "bluefield0", "bluefield1")
COUNTED = """version: 1
summary: Two GPUs and two NICs with two ports each
extends: gpu-rdma
layout: {gpu: 2, nic: 2, nic-ports: 2, switch-groups: {count: 1, gpu: 2, nic: 2}}
"""


def roles(node: dict[str, object]) -> Iterator[tuple[str, object]]:
    yield str(node["address"]), node["role"]
    children = node["children"]
    assert isinstance(children, list)
    for child in children:
        yield from roles(child)


def group(guest: Guest, name: str) -> str:
    path = f"/sys/bus/pci/devices/{guest.address(name)}/iommu_group"
    return guest.run("readlink", "-f", path).stdout.strip()


def test_the_kernel_sees_functions_of_one_slot_and_a_switch_within_a_card(guest: Guest) -> None:
    for slot, groups in ((CONNECTX, 2), (("bluefield0", "management"), 1)):
        (device,) = {guest.address(name).partition(".")[0] for name in slot}
        assert [guest.address(name) for name in slot] == [f"{device}.0", f"{device}.1"]
        assert len({group(guest, name) for name in slot}) == groups
    for port, kind in (("bluefield", "Upstream"), ("inner0", "Downstream")):
        assert f"{kind} Port" in guest.run("lspci", "-vvv", "-s", guest.address(port)).stdout


def test_cards_are_counted_and_not_their_functions(guest: Guest) -> None:
    guest.write_file("/run/counted.yaml", COUNTED.encode())

    found = audited(guest, "--profile", "/run/counted.yaml")

    layout = {
        (f.id, f.subject.path): (f.state, f.found.text)
        for f in found.findings
        if f.id.startswith("layout.") and f.id != "layout.misplaced"
    }
    assert layout == {
        ("layout.gpu", "host"): ("pass", "2 GPUs"),
        ("layout.nic", "host"): ("pass", "2 NICs"),
        ("layout.nic-ports", guest.location("connectx0")): ("pass", "2 ports"),
        ("layout.nic-ports", guest.location("bluefield0")): ("pass", "2 ports"),
        ("layout.switch-groups", "host"): ("pass", "1 switch group"),
        ("layout.switch-group", guest.location("switch0")): ("pass", "2 GPUs, 2 NICs"),
    }


def test_network_functions_are_nics_and_a_cards_bridges_and_management_are_not(
    guest: Guest,
) -> None:
    shown = json.loads(guest.pcietune("topo", *GENERIC, "--json").stdout)

    having = {address: role for root in shown["functions"] for address, role in roles(root) if role}
    assert having == {
        **dict.fromkeys(addresses(guest, "gpu0", "gpu1"), "gpu"),
        **dict.fromkeys(addresses(guest, *NICS), "nic"),
    }


def test_a_card_turns_at_the_switch_that_it_shares_with_gpus_and_not_within(guest: Guest) -> None:
    before = guest.configs()

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert applied.exit == 0
    assert weighty(applied).keys() == {"pass"}
    assert direct_translated(guest) == addresses(guest, "port2", "port3")
    assert differences(before, guest.configs()) == {
        (address, ACS_CONTROL): "1d 5d" for address in addresses(guest, "port2", "port3")
    }


def test_ports_within_a_card_owe_what_ports_between_a_nic_and_the_root_owe(
    guest: Guest,
) -> None:
    found = audited(guest, *GENERIC)

    owed = {
        name: {f.id.split(".")[1] for f in found.findings if f.subject.path == guest.location(name)}
        & {"nic-side", "gpu-side", "upstream"}
        for name in ("root0", "bluefield", "inner0", "inner1", "port2", "port3", "port0", "port1")
    }
    assert owed == {
        "root0": {"upstream"},
        "bluefield": set(),
        "inner0": {"upstream"},
        "inner1": {"upstream"},
        "port2": {"nic-side"},
        "port3": {"nic-side"},
        "port0": {"gpu-side"},
        "port1": {"gpu-side"},
    }
    blocking = {f.subject.path for f in found.findings if f.id.endswith(".TransBlk")}
    assert blocking == {
        guest.location(name) for name in ("root0", "port2", "port3", "inner0", "inner1")
    }


def test_the_functions_of_a_slot_go_to_one_vm_and_are_no_strangers(guest: Guest) -> None:
    found = audited(guest, *GENERIC)

    for name in NICS:
        assert finding(found, "group.separate", guest.location(name)).state == "pass"


def test_ats_that_was_lost_comes_back_for_each_port_that_has_its_own_group(guest: Guest) -> None:
    nics = [guest.address(name) for name in CONNECTX]
    for nic in nics:
        clear_ats(guest, nic)
    assert {ats_control(guest, nic) for nic in nics} == {"0000"}

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert applied.exit == 0
    assert {ats_control(guest, nic) for nic in nics} == {"8000"}


def test_the_type_of_a_group_that_functions_share_is_not_switched_for_one_of_them(
    guest: Guest,
) -> None:
    nic = guest.address("bluefield0")
    clear_ats(guest, nic)

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    lost = finding(applied, "nic.ats", guest.location("bluefield0"))
    assert (applied.exit, lost.state, ats_control(guest, nic)) == (3, "fail", "0000")
    assert lost.reason.endswith("apply leaves it, as its IOMMU group has other members")
    set_domain(guest, nic, "identity")
    set_domain(guest, nic, "DMA-FQ")
    assert ats_control(guest, nic) == "8000"
