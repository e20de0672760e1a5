"""Hosts whose IOMMU, or whose kernel, is not as VMs want it."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import (
    GENERIC,
    VM,
    addresses,
    audited,
    direct_translated,
    document,
    finding,
    states,
    wanting,
    weighty,
)
from pcietune.model.platform import Lockdown

pytestmark = pytest.mark.usefixtures("untouched")


@pytest.mark.machine("no-device-tlb")
def test_without_device_tlb_the_nics_ats_fails_for_that_cause(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert (applied.exit, applied.changed, applied.reboot_required) == (3, True, True)
    assert direct_translated(guest) == addresses(guest, "port1")
    assert weighty(applied)["fail"] == {
        ("nic.ats", guest.location("nic0")),
        ("iommu.device-tlb", "dmar0"),
    }
    ats = finding(applied, "nic.ats", guest.location("nic0"))
    assert ats.found.value == "0x0000"
    assert ats.reason == "IOMMU dmar0 has no device TLB: it answers no translation requests"


@pytest.mark.machine("passthrough")
def test_an_idle_nic_under_an_identity_domain_is_pending(guest: Guest) -> None:
    profile = wanting(guest, "judge")
    guest.pcietune("apply", *VM, *profile)

    found = audited(guest, *profile)
    strict = audited(guest, *profile, "--strict")

    assert (found.exit, strict.exit) == (0, 3)
    assert states(found)["pending"] == {("nic.ats", guest.location("nic0"))}
    assert finding(found, "nic.ats", guest.location("nic0")).reason == (
        "idle under domain type identity: the kernel turns ATS on when VFIO attaches it"
    )


@pytest.mark.machine("no-iommu")
def test_without_an_iommu_nothing_isolates_and_ats_cannot_come_on(guest: Guest) -> None:
    found = audited(guest, *GENERIC)

    failing = states(found)["fail"]
    assert found.exit == 3
    assert ("iommu.enabled", "host") in failing
    assert ("nic.ats", guest.location("nic0")) in failing
    assert ("group.separate", guest.location("gpu0")) in failing
    assert ("port.gpu-side.ReqRedir", guest.location("port0")) in failing


@pytest.fixture
def _lockdown_unreadable(guest: Guest) -> Iterator[None]:
    """Have no securityfs, as a rescue system has none."""
    guest.run("umount", "/sys/kernel/security")
    yield
    guest.run("mount", "-t", "securityfs", "securityfs", "/sys/kernel/security")


@pytest.mark.machine("lockdown")
@pytest.mark.usefixtures("_lockdown_unreadable")
def test_under_lockdown_the_kernels_refusal_is_told_with_the_way_out(guest: Guest) -> None:
    before = guest.configs()

    refused = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert (refused.exit, refused.changed, refused.writes) == (5, False, [])
    (error,) = refused.errors
    assert "the kernel refused to write Configuration Space: it is locked down" in error.message
    assert "config_acs" in error.hint
    assert guest.configs() == before


@pytest.mark.machine("lockdown")
def test_where_lockdown_can_be_read_no_write_is_tried(guest: Guest) -> None:
    refused = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))
    judged = audited(guest, *GENERIC)

    assert (refused.exit, refused.writes) == (5, [])
    assert refused.host is not None
    assert refused.host.lockdown is Lockdown.INTEGRITY
    assert refused.channels["registers"].state == "closed"
    assert refused.errors[0].message == (
        "registers may not be written: the kernel is locked down (integrity)"
    )
    assert "config_acs" in refused.errors[0].hint
    assert judged.exit == 3
