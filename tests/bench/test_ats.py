"""ATS that pcietune has the kernel prove and heal, and ATS of functions that others have."""

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, clear_ats, domain, set_domain
from bench.on_guest import (
    VM,
    audited,
    document,
    finding,
    states,
    wanting,
    with_signal,
)
from bench.vfio import bound, held_by_vfio
from pcietune.report.document import FindingDocument

pytestmark = pytest.mark.usefixtures("untouched")

IDENTITY, TRANSLATING = "identity", "DMA-FQ"


@pytest.fixture
def nic(guest: Guest) -> str:
    return guest.address("nic0")


def judged(guest: Guest, *arguments: str) -> FindingDocument:
    return finding(audited(guest, *arguments), "nic.ats", guest.location("nic0"))


@pytest.mark.machine("passthrough")
def test_apply_has_the_kernel_prove_what_is_pending(guest: Guest, nic: str) -> None:
    profile = wanting(guest, "ensure")
    assert judged(guest, *profile).state == "pending"

    applied = document(guest.pcietune("apply", *VM, *profile, "--json"))

    assert (applied.exit, applied.changed) == (0, True)
    proved = finding(applied, "nic.ats", guest.location("nic0"))
    assert (proved.state, proved.found.value) == ("pass", "0x0000")
    assert "proved in this boot" in proved.reason
    assert (domain(guest, nic), ats_control(guest, nic)) == (IDENTITY, "0000")
    again = document(guest.pcietune("apply", *VM, *profile, "--json"))
    assert (again.exit, again.changed, again.writes) == (0, False, [])


@pytest.mark.machine("passthrough")
def test_where_ats_is_only_judged_nothing_is_tried(guest: Guest, nic: str) -> None:
    applied = document(guest.pcietune("apply", *VM, *wanting(guest, "judge"), "--json"))

    assert {write.register for write in applied.writes} == {"ACSCtl"}
    assert finding(applied, "nic.ats", guest.location("nic0")).state == "pending"
    assert domain(guest, nic) == IDENTITY


@pytest.mark.machine("passthrough")
@pytest.mark.parametrize("driver", ["nvme", "vfio-pci"])
def test_what_a_driver_has_is_not_tried(guest: Guest, nic: str, driver: str) -> None:
    with bound(guest, nic, driver):
        applied = document(guest.pcietune("apply", *VM, *wanting(guest, "ensure"), "--json"))

        assert {write.register for write in applied.writes} == {"ACSCtl"}
        assert finding(applied, "nic.ats", guest.location("nic0")).state == "pending"
        assert domain(guest, nic) == IDENTITY


@pytest.mark.machine("passthrough")
def test_in_use_by_vfio_it_passes_on_and_fails_off_whatever_the_domain(
    guest: Guest, nic: str
) -> None:
    profile = wanting(guest, "ensure")
    with held_by_vfio(guest, nic):
        assert judged(guest, *profile).state == "pass"

        clear_ats(guest, nic)
        applied = document(guest.pcietune("apply", *VM, *profile, "--json"))

        assert (applied.exit, applied.writes) == (3, [])
        lost = finding(applied, "nic.ats", guest.location("nic0"))
        assert lost.state == "fail"
        assert lost.reason.startswith("in use by VFIO and off")
        assert ats_control(guest, nic) == "0000"


@pytest.mark.machine("passthrough")
@pytest.mark.parametrize(
    ("write", "left"),
    [
        pytest.param(5, IDENTITY, id="recorded and not begun"),
        pytest.param(6, "DMA", id="half done"),
        pytest.param(7, IDENTITY, id="done and not settled"),
    ],
)
def test_a_kill_during_the_proof_leaves_what_restore_puts_back(
    guest: Guest, nic: str, write: int, left: str
) -> None:
    arguments = ("apply", *VM, *wanting(guest, "ensure"))

    assert with_signal(guest, "SIGKILL", "after", "write", write, *arguments).returncode == -9
    assert domain(guest, nic) == left
    assert document(guest.pcietune("restore", "--json")).exit == 0

    assert (domain(guest, nic), ats_control(guest, nic)) == (IDENTITY, "0000")
    assert document(guest.pcietune(*arguments, "--json")).exit == 0
    assert judged(guest, *wanting(guest, "ensure")).state == "pass"


@pytest.mark.machine("small")
def test_apply_has_the_kernel_heal_what_somebody_cleared(guest: Guest, nic: str) -> None:
    clear_ats(guest, nic)
    profile = wanting(guest, "ensure")
    assert judged(guest, *profile).state == "fail"

    applied = document(guest.pcietune("apply", *VM, *profile, "--json"))

    assert (applied.exit, applied.changed) == (0, True)
    healed = finding(applied, "nic.ats", guest.location("nic0"))
    assert (healed.state, healed.found.value) == ("pass", "0x8000")
    assert (domain(guest, nic), ats_control(guest, nic)) == (TRANSLATING, "8000")


@pytest.mark.machine("small")
def test_a_lost_bit_is_not_healed_below_a_driver_of_its_own(guest: Guest, nic: str) -> None:
    with bound(guest, nic, "nvme"):
        clear_ats(guest, nic)

        applied = document(guest.pcietune("apply", *VM, *wanting(guest, "ensure"), "--json"))

        assert applied.exit == 3
        lost = finding(applied, "nic.ats", guest.location("nic0"))
        assert (lost.state, lost.found.value) == ("fail", "0x0000")
        assert (domain(guest, nic), ats_control(guest, nic)) == (TRANSLATING, "0000")
    set_domain(guest, nic, IDENTITY)
    set_domain(guest, nic, TRANSLATING)


@pytest.mark.machine("no-device-tlb")
def test_what_cannot_come_on_is_not_tried(guest: Guest, nic: str) -> None:
    applied = document(guest.pcietune("apply", *VM, *wanting(guest, "ensure"), "--json"))

    assert {write.register for write in applied.writes} == {"ACSCtl"}
    assert finding(applied, "nic.ats", guest.location("nic0")).state == "fail"
    assert domain(guest, nic) == TRANSLATING


@pytest.mark.machine("lockdown")
def test_under_lockdown_a_lost_bit_is_not_healed_while_registers_cannot_be_written(
    guest: Guest, nic: str
) -> None:
    refused = document(guest.pcietune("apply", *VM, *wanting(guest, "ensure"), "--json"))

    assert (refused.exit, refused.writes) == (5, [])
    assert (domain(guest, nic), ats_control(guest, nic)) == (TRANSLATING, "8000")


@pytest.mark.machine("l20")
def test_where_vfs_are_handed_over_there_is_something_to_judge_once_they_exist(
    guest: Guest,
) -> None:
    found = audited(guest, *wanting(guest, "ensure", attach="vf"))

    assert states(found)["pending"] == {
        ("nic.ats", guest.location(f"nic{number}")) for number in range(4)
    }
