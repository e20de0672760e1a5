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
