"""NICs whose virtual functions go to VMs: each has ATS of its own."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, clear_ats, domain, set_domain
from bench.vfio import held_by_vfio
from bench.vfs import virtual_functions

pytestmark = [pytest.mark.machine("l20"), pytest.mark.usefixtures("unchanged")]


@pytest.fixture
def vfs(guest: Guest, unchanged: None) -> Iterator[list[str]]:  # noqa: ARG001 -- its order
    """Have nic0 two virtual functions; yield their addresses."""
    with virtual_functions(guest, "nic0", 2) as addresses:
        yield addresses


def test_each_has_ids_group_and_ats_of_its_own(guest: Guest, vfs: list[str]) -> None:
    groups = {
        guest.run("readlink", f"/sys/bus/pci/devices/{address}/iommu_group").stdout
        for address in [guest.address("nic0"), *vfs]
    }

    assert len(guest.run("lspci", "-d", "15b3:101e").stdout.splitlines()) == 2
    assert len(groups) == 3
    for address in vfs:
        assert guest.run("setpci", "-s", address, "0.l", "ECAP_ATS+4.w").stdout.split() == [
            "ffffffff",  # ids are the physical function's matter
            "0060",
        ]
        assert (domain(guest, address), ats_control(guest, address)) == ("DMA-FQ", "8000")


def test_a_domain_that_comes_to_translate_turns_ats_of_its_own_vf_on(
    guest: Guest, vfs: list[str]
) -> None:
    first, second = vfs
    clear_ats(guest, first)
    clear_ats(guest, second)

    set_domain(guest, first, "identity")
    set_domain(guest, first, "DMA-FQ")

    assert [ats_control(guest, each) for each in vfs] == ["8000", "0000"]


def test_vfio_turns_ats_of_a_vf_on_under_an_identity_domain(guest: Guest, vfs: list[str]) -> None:
    first, second = vfs
    set_domain(guest, first, "identity")
    set_domain(guest, second, "identity")

    with held_by_vfio(guest, first):
        assert [ats_control(guest, each) for each in vfs] == ["8000", "0000"]

    assert ats_control(guest, first) == "0000"


def test_a_vf_has_ats_also_where_its_pf_is_in_an_identity_domain(guest: Guest) -> None:
    # pci_prepare_ats() of newer kernels writes the STU, which a VF has of its PF, at any rate
    pf = guest.address("nic0")
    set_domain(guest, pf, "identity")

    with virtual_functions(guest, "nic0", 1) as (vf,):
        assert (ats_control(guest, pf), ats_control(guest, vf)) == ("0000", "8000")

    set_domain(guest, pf, "DMA-FQ")
