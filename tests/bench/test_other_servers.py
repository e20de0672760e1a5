"""The main job on servers other than the A800."""

import pytest

from bench.guest import Guest
from bench.on_guest import (
    VM,
    addresses,
    audited,
    direct_translated,
    document,
    finding,
    states,
    weighty,
)
from pcietune.report.document import Document

pytestmark = pytest.mark.usefixtures("untouched")


def profile_of(found: Document) -> str:
    assert found.profile is not None
    return found.profile.name


@pytest.mark.machine("h20")
def test_an_h20_server_is_recognised_and_set(guest: Guest) -> None:
    ports = [f"port{number}" for number in (2, 3, 6, 7, 10, 11, 14, 15)]
    found = audited(guest)
    assert profile_of(found) == "h20-sxm5-8gpu"
    assert weighty(found)["fail"] == {
        ("port.nic-side.DirectTrans", guest.location(port)) for port in ports
    }

    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert applied.exit == 0
    assert weighty(applied).keys() == {"pass"}
    assert direct_translated(guest) == addresses(guest, *ports)


@pytest.mark.machine("l20")
def test_an_l20_server_is_recognised_and_set_and_waits_for_vfs(guest: Guest) -> None:
    ports = ("port2", "port5", "port8", "port11")

    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert (applied.exit, profile_of(applied)) == (0, "l20")
    assert direct_translated(guest) == addresses(guest, *ports)
    assert weighty(applied)["pending"] == {
        ("nic.ats", guest.location(f"nic{number}")) for number in range(4)
    }
    assert "fail" not in weighty(applied)


@pytest.mark.machine("mi300")
def test_ats_that_the_kernel_was_seen_not_to_turn_on_fails_and_says_so(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert (applied.exit, profile_of(applied)) == (3, "accelerator-rdma")
    assert direct_translated(guest) == addresses(guest, "port1", "port3")
    nics = {("nic.ats", guest.location(nic)) for nic in ("nic0", "nic1")}
    assert weighty(applied)["fail"] == nics
    judged = finding(applied, "nic.ats", guest.location("nic0"))
    assert "ATS Enable stayed off" in judged.reason
    assert ("iommu.device-tlb", "ivhd0") in states(applied)["pass"]
    again = document(guest.pcietune("apply", *VM, "--json"))
    assert (again.exit, again.writes) == (3, [])
