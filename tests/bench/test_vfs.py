"""NICs whose virtual functions go to VMs: each has ATS of its own."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.kernel_ats import ats_control, clear_ats, domain, set_domain
from bench.on_guest import GENERIC, VM, audited, document, finding, states, wanting
from bench.vfio import held_by_vfio
from bench.vfs import virtual_functions

pytestmark = [pytest.mark.machine("l20"), pytest.mark.usefixtures("untouched")]


@pytest.fixture
def vfs(guest: Guest, untouched: None) -> Iterator[list[str]]:  # noqa: ARG001 -- its order
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


def location(guest: Guest, number: int) -> str:
    """Return where nic0's VF of a number is; the first has 1, as it follows its PF."""
    return f"{guest.location('nic0').removesuffix('.0')}.{number}"


@pytest.mark.usefixtures("vfs")
def test_where_vfs_are_handed_over_each_is_judged_and_its_pf_is_not(guest: Guest) -> None:
    found = audited(guest, *wanting(guest, "ensure", attach="vf"))

    here = {
        (i, path)
        for i, path in states(found)["pass"]
        if i in {"nic.ats", "group.separate"} and path.startswith(guest.location("port2"))
    }
    assert here == {
        (i, location(guest, number)) for i in ("nic.ats", "group.separate") for number in (1, 2)
    }
    others = {("nic.ats", guest.location(f"nic{number}")) for number in (1, 2, 3)}
    assert states(found)["pending"] == others


@pytest.mark.usefixtures("vfs")
def test_where_pfs_are_handed_over_vfs_are_nobodys_business(guest: Guest) -> None:
    found = audited(guest, *GENERIC)

    about = {f.subject.path for f in found.findings if f.id == "nic.ats"}
    assert about == {guest.location(f"nic{number}") for number in range(4)}


def test_apply_has_the_kernel_heal_one_vf_and_prove_another(guest: Guest, vfs: list[str]) -> None:
    first, second = vfs
    clear_ats(guest, first)
    set_domain(guest, second, "identity")

    applied = document(
        guest.pcietune("apply", *VM, *wanting(guest, "ensure", attach="vf"), "--json")
    )

    judged = [finding(applied, "nic.ats", location(guest, number)) for number in (1, 2)]
    assert [(f.state, f.found.value) for f in judged] == [("pass", "0x8000"), ("pass", "0x0000")]
    assert [domain(guest, each) for each in vfs] == ["DMA-FQ", "identity"]
    assert [ats_control(guest, each) for each in vfs] == ["8000", "0000"]


def test_a_vf_in_use_without_ats_fails_and_is_left_alone(guest: Guest, vfs: list[str]) -> None:
    with held_by_vfio(guest, vfs[0]):
        clear_ats(guest, vfs[0])

        applied = document(
            guest.pcietune("apply", *VM, *wanting(guest, "ensure", attach="vf"), "--json")
        )

        lost = finding(applied, "nic.ats", location(guest, 1))
        assert (applied.exit, lost.state) == (3, "fail")
        assert lost.reason.startswith("in use by VFIO and off")
        assert ats_control(guest, vfs[0]) == "0000"
        (deferred,) = applied.deferred
        assert (deferred.path, deferred.what) == (guest.location("port2"), "DirectTrans+")
