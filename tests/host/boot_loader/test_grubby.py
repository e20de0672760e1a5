"""grubby, called with a list of arguments; it knows an argument by its name alone."""

import json
from functools import partial
from pathlib import Path

import pytest
from host.boot_loader.fake_grubby import FakeGrubby, as_booted
from host.boot_loader.roots import OURS, WORDS, insert, intended, merging, put, remove

from pcietune.errors import BadInputError, IgnoredWriteError, NotPermittedError
from pcietune.host.boot_loader.loaders import check_inserted
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderName
from pcietune.tune.kernel_args.merge import Ours

GRUBBY = LoaderName.GRUBBY
FOREIGN = "config_acs='1x111x1@0000:60:01.0;1x111x1@0000:62:00.0'"
ENTRIES = OURS.config_acs


def _files(root: Path) -> HostFiles:
    return HostFiles(root, recorded=False)


def test_every_entry_gets_one_word_in_quotes_that_grub_takes_away(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro quiet $tuned_params", b="ro")

    insert(_files(tmp_path), GRUBBY)

    assert as_booted(grubby.entries()["a"]) == ["ro", "quiet", "$tuned_params", *WORDS]
    assert as_booted(grubby.entries()["b"]) == ["ro", *WORDS]
    # In double quotes it would end those of /etc/default/grub, into which grubby copies it.
    assert '"' not in grubby.entries()["a"]


def test_it_is_called_once_without_a_shell(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro")

    insert(_files(tmp_path), GRUBBY)

    value = f"pci=config_acs='{';'.join(ENTRIES)}' iommu=pt"
    assert grubby.calls() == [["--update-kernel", "ALL", "--args", value]]


def test_the_sites_other_pci_options_and_entries_stay_in_the_word(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a=f"ro pci=realloc,{FOREIGN} pci=nocrs quiet")

    insert(_files(tmp_path), GRUBBY)

    both = f"{';'.join(ENTRIES)};1x111x1@0000:60:01.0;1x111x1@0000:62:00.0"
    assert as_booted(grubby.entries()["a"]) == [
        "ro",
        "quiet",
        f"pci=realloc,nocrs,config_acs={both}",
        "iommu=pt",
    ]


def test_inserting_twice_calls_it_once(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro pci=realloc", b="ro pci=realloc quiet")
    files = _files(tmp_path)

    insert(files, GRUBBY)
    check_inserted(files, GRUBBY, partial(merging, OURS))

    assert insert(files, GRUBBY).is_empty
    assert len(grubby.calls()) == 1


def test_removing_gives_back_what_the_site_had(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a=f"ro pci=realloc,{FOREIGN}", b=f"pci=realloc,{FOREIGN}")
    files = _files(tmp_path)
    insert(files, GRUBBY)
    insert(files, GRUBBY, Ours(config_acs=("1011101@0000:20:01.0",)))

    remove(files, GRUBBY)

    assert grubby.entries() == {"a": f"ro pci=realloc,{FOREIGN}", "b": f"pci=realloc,{FOREIGN}"}
    assert remove(files, GRUBBY).is_empty


def test_removing_leaves_no_pci_word_where_the_site_had_none(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro", b="quiet")
    files = _files(tmp_path)
    insert(files, GRUBBY)

    remove(files, GRUBBY)

    assert grubby.entries() == {"a": "ro", "b": "quiet"}


def test_entries_that_one_call_would_make_the_same_are_refused(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro pci=realloc", b="ro")

    with pytest.raises(BadInputError, match="the boot entries a, b have different pci= words"):
        insert(_files(tmp_path), GRUBBY)
    assert grubby.entries() == {"a": "ro pci=realloc", "b": "ro"}


def test_a_grubby_that_changes_nothing_is_not_believed(tmp_path: Path) -> None:
    FakeGrubby(tmp_path, a="ro").be_lazy()
    files = _files(tmp_path)

    insert(files, GRUBBY)

    with pytest.raises(IgnoredWriteError, match="does not have them now"):
        check_inserted(files, GRUBBY, partial(merging, OURS))


def test_what_it_says_when_it_fails_is_told(tmp_path: Path) -> None:
    put(tmp_path, "usr/sbin/grubby", "#!/bin/sh\necho no entries >&2\nexit 1\n", 0o755)

    with pytest.raises(NotPermittedError, match="grubby failed with 1: no entries"):
        insert(_files(tmp_path), GRUBBY)


def test_the_words_of_all_entries_are_asked_for(tmp_path: Path) -> None:
    FakeGrubby(tmp_path, a=f"ro pci={FOREIGN}", b="ro quiet")

    assert intended(_files(tmp_path), GRUBBY) == [
        ("ro", "a"),
        (f"pci={FOREIGN}".replace("'", ""), "a"),
        ("quiet", "b"),
    ]


def test_nothing_of_a_recording_is_run(tmp_path: Path) -> None:
    put(tmp_path, "usr/sbin/grubby", f"#!/bin/sh\ntouch {tmp_path}/was-run\n", 0o755)

    assert intended(HostFiles(tmp_path, recorded=True), GRUBBY) == []
    assert not (tmp_path / "was-run").exists()


def test_a_host_without_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no grubby"):
        insert(_files(tmp_path), GRUBBY)


def test_what_was_there_is_noted_before_it_is_called(tmp_path: Path) -> None:
    put(tmp_path, "usr/sbin/grubby", "#!/bin/sh\nexit 0\n", 0o755)
    grubby = FakeGrubby(tmp_path, a="ro pci=realloc")
    grubby.be_lazy()

    insert(_files(tmp_path), GRUBBY)

    note = json.loads((tmp_path / "var/lib/pcietune/kernel-args-grubby.json").read_text())
    assert note["before"] == "pci=realloc"


def test_nothing_is_put_behind_what_hands_the_rest_to_init(tmp_path: Path) -> None:
    grubby = FakeGrubby(tmp_path, a="ro -- single")

    with pytest.raises(BadInputError, match="the boot entry a has --"):
        insert(_files(tmp_path), GRUBBY)
    assert grubby.entries() == {"a": "ro -- single"}


def test_words_in_another_encoding_are_taken_as_they_are(tmp_path: Path) -> None:
    told = r"index=0\nkernel=\"a\"\nargs=\"ro x=\377\"\n"
    put(tmp_path, "usr/sbin/grubby", f'#!/bin/sh\nprintf "{told}"\n', 0o755)

    assert intended(_files(tmp_path), GRUBBY) == [("ro", "a"), ("x=\udcff", "a")]


def test_it_is_asked_where_nobody_answers_it(tmp_path: Path) -> None:
    asks = 'read -r answer && exit 0\necho "no answer" >&2\nexit 1\n'
    put(tmp_path, "usr/sbin/grubby", f"#!/bin/sh\n{asks}", 0o755)

    with pytest.raises(NotPermittedError, match="no answer"):
        insert(_files(tmp_path), GRUBBY)
