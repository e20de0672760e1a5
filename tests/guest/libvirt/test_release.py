"""What a release of libvirt can be told."""

import pytest
from guest.plans import a800_two_gpus
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Backend
from pcietune.guest.libvirt.release import DEFAULT, check_release
from pcietune.guest.plan import Plan


def _with_iommufd() -> Plan:
    plan = a800_two_gpus()
    return replace(plan, machine=replace(plan.machine, qemu="9.0", backend=Backend.IOMMUFD))


@pytest.mark.parametrize("release", [DEFAULT, "8.7", "8.7.0", "10.0.0", "12.2"])
def test_what_knows_all_address_bits_reads_a_plan(release: str) -> None:
    check_release(a800_two_gpus(), release)


@pytest.mark.parametrize("release", ["8.6.0", "8.2", "1.2.19"])
def test_what_gives_no_vm_all_address_bits_is_refused(release: str) -> None:
    with pytest.raises(BadInputError, match=f"libvirt {release} cannot .* address bits") as refused:
        check_release(a800_two_gpus(), release)

    assert "8.7" in refused.value.hint


@pytest.mark.parametrize("release", ["", "9", "9.x", "nine", "9.0.0.1", " 9.0", "9.0\n"])
def test_what_is_no_release_is_refused(release: str) -> None:
    with pytest.raises(BadInputError, match="no release of libvirt") as refused:
        check_release(a800_two_gpus(), release)

    assert refused.value.hint == "give it as --libvirt 9.0"


@pytest.mark.parametrize("release", [DEFAULT, "11.10.0", "12.1"])
def test_iommufd_is_refused_where_libvirt_has_no_word_for_it(release: str) -> None:
    with pytest.raises(BadInputError, match="mapped by iommufd") as refused:
        check_release(_with_iommufd(), release)

    assert "--libvirt 12.2" in refused.value.hint


def test_iommufd_is_told_to_what_knows_it() -> None:
    check_release(_with_iommufd(), "12.2.0")
