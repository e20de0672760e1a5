"""The kernel's own rules for ATS Enable, on which the judgement and the proof of pcietune rest."""

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, clear_ats, domain, set_domain
from bench.vfio import bound, held_by_vfio

pytestmark = [pytest.mark.machine("small"), pytest.mark.usefixtures("unchanged")]

OWNED = "Operation not permitted"  # iommu_group_store_type(): -EPERM while group->owner_cnt


@pytest.fixture
def nic(guest: Guest) -> str:
    return guest.address("nic0")


def test_ats_goes_and_comes_with_a_translating_domain(guest: Guest, nic: str) -> None:
    assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA-FQ", "8000")

    set_domain(guest, nic, "identity")
    assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "0000")

    set_domain(guest, nic, "DMA")
    assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA", "8000")

    set_domain(guest, nic, "DMA-FQ")
    assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA-FQ", "8000")


def test_a_bit_that_was_cleared_by_hand_comes_back_with_the_domain_only(
    guest: Guest, nic: str
) -> None:
    clear_ats(guest, nic)
    set_domain(guest, nic, "DMA-FQ")  # no change, so the kernel does nothing
    assert ats_control(guest, nic) == "0000"

    set_domain(guest, nic, "identity")
    set_domain(guest, nic, "DMA-FQ")

    assert ats_control(guest, nic) == "8000"


def test_a_function_that_is_bound_to_vfio_and_idle_takes_another_domain(
    guest: Guest, nic: str
) -> None:
    with bound(guest, nic, "vfio-pci"):
        assert set_domain(guest, nic, "identity") == ""
        assert ats_control(guest, nic) == "0000"

        assert set_domain(guest, nic, "DMA-FQ") == ""
        assert ats_control(guest, nic) == "8000"


def test_a_function_with_a_native_driver_keeps_its_domain(guest: Guest, nic: str) -> None:
    with bound(guest, nic, "nvme"):  # which is what QEMU's endpoints really are
        assert set_domain(guest, nic, "identity") == OWNED

        assert (domain(guest, nic), ats_control(guest, nic)) == ("DMA-FQ", "8000")


def test_while_vfio_holds_a_function_ats_is_on_and_its_group_keeps_its_domain(
    guest: Guest, nic: str
) -> None:
    with held_by_vfio(guest, nic):
        assert guest.read_file(f"/sys/bus/pci/devices/{nic}/enable") == b"1\n"
        assert ats_control(guest, nic) == "8000"

        assert set_domain(guest, nic, "identity") == OWNED

        clear_ats(guest, nic)
        assert set_domain(guest, nic, "DMA") == OWNED
        assert ats_control(guest, nic) == "0000"
    assert ats_control(guest, nic) == "8000"


def test_under_an_identity_domain_ats_is_on_only_while_vfio_holds_the_function(
    guest: Guest, nic: str
) -> None:
    set_domain(guest, nic, "identity")

    with held_by_vfio(guest, nic):
        assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "8000")

    assert (domain(guest, nic), ats_control(guest, nic)) == ("identity", "0000")
    set_domain(guest, nic, "DMA-FQ")


def test_a_bit_that_was_cleared_by_hand_is_back_when_vfio_takes_the_function(
    guest: Guest, nic: str
) -> None:
    clear_ats(guest, nic)

    with held_by_vfio(guest, nic):
        assert ats_control(guest, nic) == "8000"
    assert ats_control(guest, nic) == "8000"
