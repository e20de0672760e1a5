from dataclasses import replace

import pytest

from pcietune.model.platform import IommuGroup, Lockdown, Platform


def host(cmdline: str | None) -> Platform:
    return Platform(
        dmi={},
        kernel=None,
        boot_id=None,
        cmdline=cmdline,
        lockdown=Lockdown.NONE,
        iommu_units={},
        groups={},
    )


def test_pci_options_are_gathered_from_every_pci_word() -> None:
    found = host("ro pci=noats,realloc quiet pci=noaer xpci=nothing").pci_options

    assert found == ("noats", "realloc", "noaer")


def test_an_unreadable_command_line_has_no_options() -> None:
    assert host(None).pci_options == ()


def test_a_domain_translates_unless_it_is_identity_or_blocked() -> None:
    kinds = ("DMA", "DMA-FQ", "identity", "blocked", None)
    assert [IommuGroup(1, kind, ()).translates for kind in kinds] == [
        True,
        True,
        False,
        False,
        None,
    ]


@pytest.mark.parametrize(
    ("kernel", "release"),
    [
        ("6.12.0-amd64", (6, 12)),
        ("5.14.0-427.13.1.el9_4.x86_64", (5, 14)),
        ("7.3-rc4", None),
        ("next", None),
        ("", None),
        (None, None),
    ],
)
def test_a_release_has_a_major_and_a_minor_number(
    kernel: str | None, release: tuple[int, int] | None
) -> None:
    assert replace(host(None), kernel=kernel).release == release
