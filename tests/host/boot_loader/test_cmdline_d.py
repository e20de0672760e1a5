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
    put(tmp_path, "usr/bin/mkinitcpio", "", 0o755)
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


def test_other_words_are_left_alone(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, SITE, "ro pci=realloc\n")
    insert(files, CMDLINE_D)

    found = [word for word, _ in intended(files, CMDLINE_D)]

    assert found == ["ro", "pci=realloc", *WORDS]


def test_an_image_by_dracut_must_be_a_unified_one(tmp_path: Path) -> None:
    put(tmp_path, "usr/bin/dracut", "", 0o755)

    then = insert(HostFiles(tmp_path, recorded=False), CMDLINE_D).then

    assert then == ("dracut --uefi --force", "reboot")


def test_a_host_whose_images_are_made_otherwise_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="neither mkinitcpio nor dracut"):
        insert(HostFiles(tmp_path, recorded=False), CMDLINE_D)
