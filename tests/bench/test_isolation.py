"""Isolation that IOMMU groups claim, and what live registers say of it."""

import json
from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import GENERIC, VM, audited, document, finding, states
from bench.vfio import bound, held_by_vfio

pytestmark = pytest.mark.usefixtures("untouched")


def groups(guest: Guest, *arguments: str) -> dict[str, dict[str, object]]:
    """Return what pcietune shows of each group, by the addresses of its members."""
    shown = json.loads(guest.pcietune("groups", "--json", *arguments).stdout)
    return {
        " ".join(member["address"] for member in group["members"]): group
        for group in shown["groups"]
    }


@pytest.mark.machine("a800")
def test_every_group_of_the_kernel_is_shown_with_its_members_and_type(guest: Guest) -> None:
    listed = guest.run(
        *("sh", "-c"),
        "cd /sys/kernel/iommu_groups; for g in *; do echo $g $(cat $g/type) $(ls $g/devices); done",
    ).stdout

    shown = groups(guest, "--all")

    assert {(str(g["group"]), g["type"], members) for members, g in shown.items()} == {
        (number, kind, members)
        for number, kind, members in (line.split(" ", 2) for line in listed.splitlines())
    }


@pytest.mark.machine("a800")
def test_without_all_only_groups_of_gpus_nics_and_nvswitches_are_shown(guest: Guest) -> None:
    shown = groups(guest)

    names = [f"{kind}{n}" for kind, count in (("gpu", 8), ("nic", 8)) for n in range(count)]
    nvswitches = [f"nvswitch{n}" for n in range(6)]
    assert set(shown) == {guest.address(name) for name in [*names, *nvswitches]}
    assert {group["viability"] for group in shown.values()} == {"viable"}
    assert not [group for group in shown.values() if group["reaches"]]


@pytest.mark.machine("small")
def test_a_native_driver_keeps_vfio_from_a_group_and_a_vfio_driver_does_not(guest: Guest) -> None:
    nic = guest.address("nic0")

    with bound(guest, nic, "nvme"):
        assert groups(guest, *GENERIC)[nic]["viability"] != "viable"
    with bound(guest, nic, "vfio-pci"):
        assert groups(guest, *GENERIC)[nic]["viability"] == "viable"


@pytest.mark.machine("no-acs")
def test_ports_without_acs_are_told_apart_by_the_kernel_only(guest: Guest) -> None:
    found = audited(guest, *GENERIC)  # case E19

    isolation = {path for i, path in states(found)["fail"] if i == "group.isolation"}
    assert found.exit == 3
    assert isolation == {guest.location("port0"), guest.location("port1")}
    assert ("group.separate", guest.location("gpu0")) in states(found)["pass"]
    assert "NOT APART" in guest.pcietune("groups").stdout
    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))
    assert (applied.exit, applied.writes) == (3, [])


@pytest.fixture
def _lost(guest: Guest, untouched: None) -> Iterator[None]:  # noqa: ARG001 -- its order
    """Clear ReqRedir above the NIC by hand, of which the kernel's groups know nothing."""
    port = guest.address("port1")
    guest.run("setpci", "-s", port, "ECAP_ACS+6.w=0000:0004")
    yield
    guest.run("setpci", "-s", port, "ECAP_ACS+6.w=0004:0004")


@pytest.mark.machine("small")
@pytest.mark.usefixtures("_lost")
def test_a_redirect_that_was_cleared_makes_the_groups_claims_false(guest: Guest) -> None:
    lost = finding(audited(guest, *GENERIC), "group.isolation", guest.location("port1"))

    assert (lost.state, lost.severity, lost.found.text) == ("fail", "error", "ReqRedir-")
    shown = groups(guest, *GENERIC)
    assert [shown[guest.address(name)]["reaches"] for name in ("nic0", "gpu0")] == [
        [{"address": guest.address("port1"), "missing": "ReqRedir-", "others": [other]}]
        for other in (guest.address("gpu0"), guest.address("nic0"))
    ]


@pytest.mark.machine("small")
@pytest.mark.usefixtures("_lost")
def test_it_is_the_loudest_finding_while_vfio_has_a_function_below(guest: Guest) -> None:
    with held_by_vfio(guest, guest.address("nic0")):
        found = audited(guest, *GENERIC)
        text = guest.pcietune("audit", *VM, *GENERIC).stdout

    lost = finding(found, "group.isolation", guest.location("port1"))
    assert lost.reason.startswith("ISOLATION LOST")
    assert text.split("FAIL", 2)[1].startswith("  group.isolation")


@pytest.mark.machine("small")
@pytest.mark.usefixtures("_lost")
def test_a_redirect_is_not_set_at_run_time(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert (applied.exit, {w.mask for w in applied.writes}) == (3, {"0x0040"})
    assert guest.run("setpci", "-s", guest.address("port1"), "ECAP_ACS+6.w").stdout == "0059\n"
