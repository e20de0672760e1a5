"""/etc/cmdline.d, whose files are joined as they are into an image's command line."""

from pathlib import Path

import pytest
from host.boot_loader.roots import WORDS, insert, intended, put, remove

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderName

CMDLINE_D = LoaderName.CMDLINE_D
OWN = "etc/cmdline.d/50-pcietune.conf"
SITE = "etc/cmdline.d/10-site.conf"


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    put(tmp_path, "etc/mkinitcpio.d/linux.preset", 'default_uki="/efi/EFI/Linux/arch.efi"\n')
    return HostFiles(tmp_path, recorded=False)


def test_the_file_holds_nothing_but_the_words(tmp_path: Path, files: HostFiles) -> None:
    change = insert(files, CMDLINE_D)

    assert (tmp_path / OWN).read_text() == " ".join(WORDS) + "\n"
    assert change.then == ("mkinitcpio -P", "reboot")


def test_inserting_twice_changes_nothing_and_removing_takes_it_away(
    tmp_path: Path, files: HostFiles
) -> None:
    insert(files, CMDLINE_D)

    assert insert(files, CMDLINE_D).is_empty
    remove(files, CMDLINE_D)
    assert not (tmp_path / OWN).exists()
    assert remove(files, CMDLINE_D).is_empty


def test_a_word_of_another_file_is_named_and_not_doubled(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, SITE, "# mine\nro pci=config_acs=1x111x1@0000:60:01.0\n")

    with pytest.raises(BadInputError, match=r"^/etc/cmdline\.d/10-site\.conf:2 has pci="):
        insert(files, CMDLINE_D)
    assert not (tmp_path / OWN).exists()


def test_nothing_is_put_behind_what_hands_the_rest_to_init(
    tmp_path: Path, files: HostFiles
) -> None:
    put(tmp_path, SITE, "ro -- single\n")

    with pytest.raises(BadInputError, match=r"^/etc/cmdline\.d/10-site\.conf:1 has --"):
        insert(files, CMDLINE_D)
    assert not (tmp_path / OWN).exists()


def test_other_words_are_left_alone(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, SITE, "ro pci=realloc\n")
    insert(files, CMDLINE_D)

    found = [word for word, _ in intended(files, CMDLINE_D)]

    assert found == ["ro", "pci=realloc", *WORDS]


def test_an_image_by_dracut_must_be_a_unified_one(tmp_path: Path) -> None:
    put(tmp_path, "etc/dracut.conf.d/uki.conf", 'uefi="yes"\n')

    then = insert(HostFiles(tmp_path, recorded=False), CMDLINE_D).then

    assert then == ("dracut --force --regenerate-all", "reboot")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/mkinitcpio.d/linux.preset", '#default_uki="/efi/EFI/Linux/arch.efi"\n'),
        ("etc/dracut.conf.d/any.conf", 'hostonly="yes"\n'),
    ],
)
def test_an_initramfs_that_is_no_unified_image_hands_the_kernel_nothing(
    tmp_path: Path, path: str, text: str
) -> None:
    put(tmp_path, path, text)

    with pytest.raises(BadInputError, match="so the kernel would not see what is in"):
        insert(HostFiles(tmp_path, recorded=False), CMDLINE_D)
    assert not (tmp_path / OWN).exists()
