"""/etc/kernel/cmdline, which kernel-install hands over word by word, with no shell between."""

import shutil
from pathlib import Path

import pytest
from host.boot_loader.roots import WORDS, insert, intended, put, remove, with_kernel_install

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderName
from pcietune.tune.kernel_args.merge import Ours

BOOT = LoaderName.SYSTEMD_BOOT
OWN = " ".join(WORDS)
FOREIGN = "1x111x1@0000:60:01.0"
OTHER = Ours(config_acs=("1011101@0000:20:01.0",))


def _line(root: Path) -> str:
    return (root / "etc/kernel/cmdline").read_text()


def test_the_words_stand_behind_the_sites_own_without_quotes(tmp_path: Path) -> None:
    insert(with_kernel_install(tmp_path), BOOT)

    assert _line(tmp_path) == f"root=/dev/sda1 ro {OWN}\n"


def test_the_sites_entries_are_merged_into_one_word(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path, f"ro pci=realloc,config_acs={FOREIGN} quiet\n")

    insert(files, BOOT)

    assert _line(tmp_path) == f"ro pci=realloc quiet {WORDS[0]};{FOREIGN} {WORDS[1]}\n"


def test_removing_gives_back_the_file_as_it_was(tmp_path: Path) -> None:
    line = f"# mine\nro  pci=realloc,config_acs={FOREIGN}\nquiet\n"
    files = with_kernel_install(tmp_path, line)
    insert(files, BOOT)
    insert(files, BOOT, OTHER)

    remove(files, BOOT)

    assert _line(tmp_path) == line
    assert remove(files, BOOT).is_empty


def test_removing_keeps_what_others_wrote_since(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path, f"ro pci=config_acs={FOREIGN}\n")
    insert(files, BOOT)
    put(tmp_path, "etc/kernel/cmdline", _line(tmp_path).replace("ro ", "ro nomodeset "))

    remove(files, BOOT)

    assert _line(tmp_path).split() == ["ro", "nomodeset", f"pci=config_acs={FOREIGN}"]


def test_what_somebody_made_of_our_words_is_left_alone(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    insert(files, BOOT)
    put(tmp_path, "etc/kernel/cmdline", "root=/dev/sda1 ro pci=config_acs=1@pci:0:0\n")

    with pytest.raises(BadInputError, match="no longer has the words that pcietune wrote"):
        remove(files, BOOT)


def test_inserting_twice_changes_nothing(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    insert(files, BOOT)
    before = (tmp_path / "etc/kernel/cmdline").stat()

    assert insert(files, BOOT).is_empty
    assert (tmp_path / "etc/kernel/cmdline").stat() == before


def test_other_words_of_ours_replace_the_first(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    insert(files, BOOT)

    insert(files, BOOT, OTHER)

    assert _line(tmp_path) == "root=/dev/sda1 ro pci=config_acs=1011101@0000:20:01.0\n"


def test_a_new_file_starts_as_kernel_install_does_without_one(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path, None)

    insert(files, BOOT)
    assert _line(tmp_path) == f"root=/dev/sda1 ro quiet {OWN}\n"
    insert(files, BOOT, OTHER)
    assert _line(tmp_path).startswith("root=/dev/sda1 ro quiet pci=config_acs=1011101@")

    remove(files, BOOT)
    assert not (tmp_path / "etc/kernel/cmdline").exists()


def test_a_line_that_the_distribution_ships_comes_before_the_running_one(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path, None)
    put(tmp_path, "usr/lib/kernel/cmdline", "root=LABEL=os\n")

    insert(files, BOOT)

    assert _line(tmp_path) == f"root=LABEL=os {OWN}\n"


def test_comments_stay_on_top_and_ask_for_nothing(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path, f"# pci=config_acs={FOREIGN}\nro\n")

    insert(files, BOOT)

    assert _line(tmp_path) == f"# pci=config_acs={FOREIGN}\nro {OWN}\n"
    assert intended(files, BOOT)[0] == ("ro", "/etc/kernel/cmdline:2")


def test_what_was_there_is_kept_beside_it_with_its_mode(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    (tmp_path / "etc/kernel/cmdline").chmod(0o600)

    insert(files, BOOT)

    kept = tmp_path / "etc/kernel/cmdline.before-pcietune"
    assert kept.read_text() == "root=/dev/sda1 ro\n"
    modes = [(tmp_path / f"etc/kernel/{n.name}").stat().st_mode & 0o777 for n in (kept,)]
    assert [*modes, (tmp_path / "etc/kernel/cmdline").stat().st_mode & 0o777] == [0o600, 0o600]


def test_what_must_run_then_names_kernel_and_image(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    put(tmp_path, "usr/lib/modules/6.16.1/vmlinuz", "")

    then = insert(files, BOOT).then

    assert then == ("kernel-install add 6.16.1 /usr/lib/modules/6.16.1/vmlinuz", "reboot")


def test_a_host_without_kernel_install_is_told(tmp_path: Path) -> None:
    put(tmp_path, "etc/kernel/cmdline", "ro\n")

    with pytest.raises(BadInputError, match="no kernel-install"):
        insert(HostFiles(tmp_path, recorded=False), BOOT)


def test_a_file_that_nothing_would_read_is_not_made(tmp_path: Path) -> None:
    # Debian has kernel-install with systemd, whatever boots it.
    files = with_kernel_install(tmp_path, None)
    shutil.rmtree(tmp_path / "efi")

    with pytest.raises(BadInputError, match="so nothing would read it"):
        insert(files, BOOT)
    assert not (tmp_path / "etc/kernel/cmdline").exists()


def test_where_grub_reads_what_is_made_of_it_grubby_is_the_way(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    put(tmp_path, "usr/sbin/grubby", "", 0o755)

    with pytest.raises(BadInputError, match="GRUB boots this host and ends a command at a ;"):
        insert(files, BOOT)


def test_a_note_that_makes_no_sense_stops_all(tmp_path: Path) -> None:
    files = with_kernel_install(tmp_path)
    put(tmp_path, "var/lib/pcietune/kernel-args-systemd-boot.json", "{")

    for action in (insert, remove):
        with pytest.raises(BadInputError, match="makes no sense"):
            action(files, BOOT)
    assert _line(tmp_path) == "root=/dev/sda1 ro\n"
