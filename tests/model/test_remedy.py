import pytest

from pcietune.model.finding import Remedy, RemedyKind


@pytest.mark.parametrize("kind", [RemedyKind.KERNEL_ARGS, RemedyKind.FIRMWARE, RemedyKind.BIOS])
def test_what_acts_at_boot_needs_a_reboot(kind: RemedyKind) -> None:
    assert Remedy(kind, "").reboot


@pytest.mark.parametrize("kind", [RemedyKind.REGISTER, RemedyKind.SOFTWARE, RemedyKind.HARDWARE])
def test_what_acts_at_once_or_is_no_setting_needs_none(kind: RemedyKind) -> None:
    assert not Remedy(kind, "").reboot
