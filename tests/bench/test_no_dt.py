"""Switches that cannot do DirectTrans, or say that they can and do not."""

import pytest

from bench.guest import Guest
from bench.on_guest import (
    ACS_CONTROL,
    GENERIC,
    VM,
    addresses,
    direct_translated,
    document,
    finding,
    weighty,
)

pytestmark = [pytest.mark.machine("no-dt"), pytest.mark.usefixtures("untouched")]

DIRECT_TRANS = "port.nic-side.DirectTrans"
WRITABLE, STUCK = bytes([0x5F, 0]), bytes([0x1F, 0])


def test_a_switch_that_cannot_is_named_and_the_rest_of_its_group_is_set(guest: Guest) -> None:
    guest.poke("port4", ACS_CONTROL, bytes([0x1D, 0]), writable=WRITABLE)
    try:
        applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

        assert (applied.exit, applied.changed, applied.power_cycle_required) == (3, True, True)
        assert weighty(applied)["fail"] == {(DIRECT_TRANS, guest.location("port1"))}
        cannot = finding(applied, DIRECT_TRANS, guest.location("port1"))
        assert cannot.reason == (
            f"this switch cannot: ACS Capability 0x001f of {guest.address('port1')} has no "
            "DirectTrans"
        )
        assert cannot.remedy is not None
        assert cannot.remedy.kind == "hardware"
        assert [r.path for r in applied.residual] == [guest.location("port1")]
        others = addresses(guest, "port2", "port4", "port5", "port7", "port8")
        assert direct_translated(guest) == others
    finally:
        guest.pcietune("restore")
        guest.poke("port4", ACS_CONTROL, bytes([0x1D, 0]), writable=STUCK)


def test_a_port_that_ignores_the_write_costs_its_own_group(guest: Guest) -> None:
    stuck = guest.address("port4")

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert (applied.exit, applied.changed) == (7, True)
    (error,) = applied.errors
    assert error.message == (
        f"{stuck}: wrote 0x0040 under mask 0x0040 to ACSCtl (0x001d), but it reads 0x001d; "
        "the switch group is as it was found"
    )
    assert direct_translated(guest) == addresses(guest, "port2", "port7", "port8")
    assert weighty(applied)["fail"] == {
        (DIRECT_TRANS, guest.location(name)) for name in ("port1", "port4", "port5")
    }


def test_the_text_names_the_failed_group_and_the_port(guest: Guest) -> None:
    applied = guest.pcietune("apply", *VM, *GENERIC)

    assert applied.returncode == 7
    assert f"FAILED  switch group {guest.location('switch1')}: " in applied.stdout
    assert guest.address("port4") in applied.stdout
