"""The file below /etc/default/grub.d: read as the shell and GRUB's own script read it."""

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from host.boot_loader.roots import (
    OURS,
    SOURCES_ONE_FILE,
    WORDS,
    debian,
    insert,
    intended,
    put,
    remove,
)
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderName
from pcietune.tune.kernel_args.merge import Ours

GRUB = LoaderName.GRUB
OWN = "etc/default/grub.d/50-pcietune.cfg"
FOREIGN = "pci=config_acs=1x111x1@0000:60:01.0"


_BOOT = r"""
for file in "$1"/etc/default/grub "$1"/etc/default/grub.d/*.cfg; do
    . "$file"
done
exec sh -c "printf '%s\n' $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"
"""


def _as_booted(root: Path) -> list[str]:
    """Return the words that come to the kernel: two shells read them, as two programs do.

    The second stands for GRUB's script, which has the quotes and the ``;`` of sh.
    """
    run = subprocess.run(
        ["sh", "-ec", _BOOT, "sh", str(root)], check=True, capture_output=True, text=True
    )
    return run.stdout.split()


def test_the_words_come_to_the_kernel_behind_the_sites_own(tmp_path: Path) -> None:
    files = debian(tmp_path, 'GRUB_CMDLINE_LINUX="crashkernel=1G"\n')

    insert(files, GRUB)

    assert _as_booted(tmp_path) == ["crashkernel=1G", *WORDS]


def test_recovery_entries_boot_without_them(tmp_path: Path) -> None:
    files = debian(tmp_path)

    insert(files, GRUB)

    assert "GRUB_CMDLINE_LINUX=" not in (tmp_path / OWN).read_text()


def test_what_must_run_then_is_said(tmp_path: Path) -> None:
    assert insert(debian(tmp_path), GRUB).then == ("update-grub", "reboot")


def test_inserting_twice_changes_nothing(tmp_path: Path) -> None:
    files = debian(tmp_path)
    insert(files, GRUB)
    before = (tmp_path / OWN).stat()

    assert insert(files, GRUB).is_empty
    assert (tmp_path / OWN).stat() == before


def test_other_words_take_the_place_of_the_first_which_are_kept_beside_it(tmp_path: Path) -> None:
    files = debian(tmp_path)
    insert(files, GRUB)
    first = (tmp_path / OWN).read_text()
    (tmp_path / OWN).chmod(0o600)

    insert(files, GRUB, Ours(config_acs=("1011101@0000:20:01.0",)))

    assert _as_booted(tmp_path) == ["quiet", "pci=config_acs=1011101@0000:20:01.0"]
    assert (tmp_path / f"{OWN}.before-pcietune").read_text() == first
    assert (tmp_path / OWN).stat().st_mode & 0o777 == 0o600


def test_removing_takes_the_file_away_and_nothing_else(tmp_path: Path) -> None:
    files = debian(tmp_path)
    other = put(tmp_path, "etc/default/grub.d/10-site.cfg", "GRUB_TIMEOUT=3\n")
    insert(files, GRUB)

    remove(files, GRUB)

    assert not (tmp_path / OWN).exists()
    assert other.read_text() == "GRUB_TIMEOUT=3\n"
    assert remove(files, GRUB).is_empty


def test_a_file_that_somebody_changed_is_left_alone(tmp_path: Path) -> None:
    files = debian(tmp_path)
    insert(files, GRUB)
    changed = put(tmp_path, OWN, (tmp_path / OWN).read_text() + "GRUB_TIMEOUT=3\n").read_text()

    for action in (insert, remove):
        with pytest.raises(BadInputError, match="is not as pcietune wrote it"):
            action(files, GRUB)
    assert (tmp_path / OWN).read_text() == changed


@pytest.mark.parametrize("path", ["etc/default/grub", "etc/default/grub.d/config-acs.cfg"])
def test_the_sites_own_word_is_not_doubled_but_named_with_the_one_that_holds_both(
    tmp_path: Path, path: str
) -> None:
    files = debian(tmp_path)
    put(tmp_path, path, f'# ACS\nGRUB_CMDLINE_LINUX="quiet {FOREIGN}"\n')

    with pytest.raises(BadInputError) as said:
        insert(files, GRUB)

    assert str(said.value) == (
        f"/{path}:2 has {FOREIGN}, and of two such words only the last one counts"
    )
    assert said.value.hint.endswith(f"{WORDS[0]};1x111x1@0000:60:01.0")
    assert not (tmp_path / OWN).exists()


def test_once_the_site_has_them_itself_there_is_nothing_to_write(tmp_path: Path) -> None:
    line = rf'GRUB_CMDLINE_LINUX="pci=config_acs=\"{WORDS[0].rpartition("=")[2]}\" iommu=pt"'

    assert insert(debian(tmp_path, f"{line}\n"), GRUB).is_empty


def test_other_pci_words_of_the_site_stay_where_they_are(tmp_path: Path) -> None:
    files = debian(tmp_path, "GRUB_CMDLINE_LINUX_DEFAULT='quiet pci=realloc,nocrs'\n")

    insert(files, GRUB)

    assert _as_booted(tmp_path) == ["quiet", "pci=realloc,nocrs", *WORDS]


def test_a_later_file_that_would_lose_the_words_is_named(tmp_path: Path) -> None:
    files = debian(tmp_path)
    put(tmp_path, "etc/default/grub.d/60-image.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty0"\n')

    with pytest.raises(BadInputError, match=r"60-image\.cfg is read after .* so the word would"):
        insert(files, GRUB)


def test_a_later_file_that_adds_to_them_does_no_harm(tmp_path: Path) -> None:
    files = debian(tmp_path)
    more = 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} console=tty0"\n'
    put(tmp_path, "etc/default/grub.d/60-image.cfg", more)

    insert(files, GRUB)

    assert _as_booted(tmp_path) == ["quiet", *WORDS, "console=tty0"]


# linux-rdma/rdma-core#1802 (B05): the drop-in that nothing reads.


def test_a_drop_in_that_grub_mkconfig_would_not_read_is_not_written(tmp_path: Path) -> None:
    put(tmp_path, "usr/sbin/grub2-mkconfig", SOURCES_ONE_FILE)
    put(tmp_path, "boot/grub2/grub.cfg", "")
    put(tmp_path, "usr/sbin/grubby", "")

    with pytest.raises(BadInputError, match="a file there would do nothing") as said:
        insert(HostFiles(tmp_path, recorded=False), GRUB)

    assert said.value.hint == "use --write grubby"


def test_without_grubby_too_the_word_is_left_to_the_administrator(tmp_path: Path) -> None:
    put(tmp_path, "usr/bin/grub-mkconfig", SOURCES_ONE_FILE)
    put(tmp_path, "boot/grub/grub.cfg", "")

    with pytest.raises(BadInputError) as said:
        insert(HostFiles(tmp_path, recorded=False), GRUB)

    assert "to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub" in said.value.hint


def test_a_host_without_grub_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no grub-mkconfig"):
        insert(HostFiles(tmp_path, recorded=False), GRUB)


def test_a_host_that_has_its_tools_but_does_not_boot_by_grub_is_told(tmp_path: Path) -> None:
    files = debian(tmp_path)
    (tmp_path / "boot/grub/grub.cfg").unlink()

    with pytest.raises(BadInputError, match="GRUB does not boot this host"):
        insert(files, GRUB)


def test_a_comment_asks_for_nothing(tmp_path: Path) -> None:
    files = debian(tmp_path, f'#GRUB_CMDLINE_LINUX="{FOREIGN}"\nGRUB_TIMEOUT=5 # {FOREIGN}\n')

    assert intended(files, GRUB) == []
    insert(files, GRUB)


def test_what_a_later_file_sets_anew_is_not_asked_for_any_more(tmp_path: Path) -> None:
    files = debian(tmp_path, f'GRUB_CMDLINE_LINUX_DEFAULT="{FOREIGN}"\n')
    put(tmp_path, "etc/default/grub.d/60-image.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')

    assert intended(files, GRUB) == [("quiet", "/etc/default/grub.d/60-image.cfg:1")]


def test_a_file_that_is_no_cfg_asks_for_nothing(tmp_path: Path) -> None:
    files = debian(tmp_path)
    put(tmp_path, "etc/default/grub.d/site.cfg.bak", f'GRUB_CMDLINE_LINUX="{FOREIGN}"\n')

    assert intended(files, GRUB) == [("quiet", "/etc/default/grub:1")]


@pytest.mark.parametrize(
    "text",
    [
        f'GRUB_CMDLINE_LINUX="ro \\\n  {FOREIGN} \\\n  quiet"\n',
        f'GRUB_CMDLINE_LINUX="ro\n{FOREIGN}\nquiet"\n',
        f"GRUB_CMDLINE_LINUX='ro {FOREIGN}'",
        f'SITE="{FOREIGN}"\nGRUB_CMDLINE_LINUX="ro ${{SITE}} $SITE $GRUB_CMDLINE_LINUX"\n',
        f"export GRUB_CMDLINE_LINUX={FOREIGN} # don't\n# don't either \\\nX='it'\\''s'\n",
        f'GRUB_CMDLINE_LINUX="{FOREIGN}"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet {FOREIGN}"\n',
        f'GRUB_CMDLINE_LINUX="{FOREIGN}"\nGRUB_CMDLINE_LINUX+="c5 quiet"\n',
        f'GRUB_CMDLINE_LINUX+="{FOREIGN}"\nGRUB_CMDLINE_LINUX+=" quiet"\n',
    ],
    ids=[
        "continued", "over lines", "no last newline", "by a variable", "exported, and comments",
        "in both", "added without a space", "added",
    ],
)  # fmt: skip
def test_a_file_asks_for_what_a_shell_makes_of_it(tmp_path: Path, text: str) -> None:
    files = debian(tmp_path, text)
    shell = '. "$0"; echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT'

    by_shell = subprocess.run(
        ["bash", "-ec", shell, str(tmp_path / "etc/default/grub")],
        check=True,
        capture_output=True,
        text=True,
    )

    assert [word for word, _ in intended(files, GRUB)] == by_shell.stdout.split()
    with pytest.raises(BadInputError, match="the last one counts"):
        insert(files, GRUB)


@pytest.mark.parametrize(
    "text",
    [
        f'GRUB_CMDLINE_LINUX="${{X:-{FOREIGN}}}"\n',
        'GRUB_CMDLINE_LINUX="ro pci=$WORDS"\n',
        f"add {FOREIGN}\n",
    ],
    ids=["a default", "a part", "a function"],
)
def test_what_only_a_shell_could_work_out_is_refused_with_its_line(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(BadInputError, match="/etc/default/grub:1 makes no sense"):
        insert(debian(tmp_path, text), GRUB)


@pytest.mark.parametrize("variable", ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"])
def test_nothing_is_put_behind_what_hands_the_rest_to_init(tmp_path: Path, variable: str) -> None:
    files = debian(tmp_path, f'{variable}="ro -- single"\n')

    with pytest.raises(BadInputError, match="/etc/default/grub:1 has --") as said:
        insert(files, GRUB)

    assert said.value.hint.endswith(" ".join(WORDS))
    assert not (tmp_path / OWN).exists()


def test_what_has_no_quotes_ends_at_its_semicolon_and_all_behind_it_is_lost(tmp_path: Path) -> None:
    files = debian(tmp_path, f'GRUB_CMDLINE_LINUX="ro {FOREIGN};1@0000:99:00.0 splash"\n')
    put(tmp_path, "etc/default/grub.d/any.cfg", "")
    by_grub = subprocess.run(
        ["sh", "-ec", _BOOT, "sh", str(tmp_path)], check=False, capture_output=True, text=True
    )

    assert [word for word, _ in intended(files, GRUB)] == by_grub.stdout.split() == ["ro", FOREIGN]
    with pytest.raises(BadInputError, match="/etc/default/grub:1: GRUB ends the command at the ;"):
        insert(files, GRUB)


@pytest.mark.parametrize("value", [r"\"{0}\"", "'{0}'"], ids=["double", "single"])
def test_what_has_quotes_that_reach_grub_is_asked_for(tmp_path: Path, value: str) -> None:
    entries = "1@0000:99:00.0;1@0000:98:00.0"
    files = debian(tmp_path, f'GRUB_CMDLINE_LINUX="pci=config_acs={value.format(entries)} ro"\n')
    put(tmp_path, "etc/default/grub.d/any.cfg", "")

    words = [word for word, _ in intended(files, GRUB)]

    assert words == _as_booted(tmp_path) == [f"pci=config_acs={entries}", "ro"]


def test_the_word_that_stands_twice_is_named_with_the_one_to_write(tmp_path: Path) -> None:
    word = rf"pci=config_acs=\"{WORDS[0].rpartition('=')[2]}\""
    text = f'GRUB_CMDLINE_LINUX="{word}"\nGRUB_CMDLINE_LINUX_DEFAULT="{word}"\n'

    with pytest.raises(BadInputError, match="only the last one counts") as said:
        insert(debian(tmp_path, text), GRUB)

    assert said.value.hint.endswith(WORDS[0])


def test_where_grub_has_its_entries_from_elsewhere_grubby_is_the_way(tmp_path: Path) -> None:
    files = debian(tmp_path, f'GRUB_ENABLE_BLSCFG="true"\nGRUB_CMDLINE_LINUX="{FOREIGN}"\n')

    with pytest.raises(BadInputError, match="/etc/default/grub:1: GRUB_ENABLE_BLSCFG=true") as said:
        insert(files, GRUB)
    put(tmp_path, "usr/sbin/grubby", "")
    with pytest.raises(BadInputError) as with_grubby:
        insert(files, GRUB)

    assert "to the options there" in said.value.hint
    assert with_grubby.value.hint == "use --write grubby"
    assert intended(files, GRUB) == []
    assert not (tmp_path / OWN).exists()


def test_a_directory_that_is_a_link_to_nowhere_is_told(tmp_path: Path) -> None:
    files = debian(tmp_path)
    (tmp_path / "etc/default/grub.d").symlink_to(tmp_path / "nowhere")

    with pytest.raises(NotPermittedError) as said:
        insert(files, GRUB)

    assert said.value.hint.startswith("is /etc/default/grub.d a directory")


def test_an_assignment_that_makes_no_sense_is_named_where_it_matters(tmp_path: Path) -> None:
    files = debian(tmp_path, f'GRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX="{FOREIGN}\n')

    with pytest.raises(BadInputError, match="/etc/default/grub:2 makes no sense"):
        insert(files, GRUB)


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    files = debian(tmp_path)
    elsewhere = put(tmp_path, "elsewhere", "")
    (tmp_path / "etc/default/grub.d").mkdir()
    (tmp_path / OWN).symlink_to(elsewhere)

    with pytest.raises(BadInputError):
        insert(files, GRUB)
    assert elsewhere.read_text() == ""


def test_ours_is_what_the_tests_expect() -> None:
    assert OURS.words == WORDS


LINE = "GRUB_CMDLINE_LINUX= GRUB_CMDLINE_LINUX_DEFAULT= pci= config_acs= 1@pci:0:0 -- quiet"
pieces = st.sampled_from([*LINE.split(), *"${}\"'\\#;\n ,\0\u2028"])


@given(text=st.lists(pieces, max_size=30).map("".join))
def test_whatever_is_in_the_file_is_understood_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    files = debian(tmp_path_factory.mktemp("host"), text)

    with suppress(BadInputError):
        assert all(isinstance(word, str) for word, _ in intended(files, GRUB))
