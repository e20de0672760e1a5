"""What is remembered of ATS, and whom it is believed."""

from pathlib import Path

import pytest
from host.hindered import files_of_at_most

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.ats_proofs import keep_trials, read_trials
from pcietune.model.ats_proof import NO_TRIALS, AtsProof, AtsTrials

BOOT = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
FIRST = AtsProof("0000:20:01.0/00.0/04.0/00.0", "15b3:101b")
SECOND = AtsProof("0000:20:01.0/00.0/08.0/00.0", "15b3:101b")
PROVED = AtsTrials(proofs=frozenset({FIRST}))
DISPROVED = AtsTrials(disproofs=frozenset({FIRST}))
OTHER = AtsTrials(disproofs=frozenset({SECOND}))


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    (tmp_path / "var/lib").mkdir(parents=True)
    return HostFiles(tmp_path, recorded=False)


def _file(files: HostFiles) -> Path:
    return files.root / "var/lib/pcietune/ats-proofs.jsonl"


def test_what_was_seen_is_remembered_beside_what_was_seen_before(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)
    keep_trials(files, BOOT, OTHER)

    assert read_trials(files, BOOT) == AtsTrials(frozenset({FIRST}), frozenset({SECOND}))


def test_what_was_tried_last_counts(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)
    keep_trials(files, BOOT, DISPROVED)
    assert read_trials(files, BOOT) == DISPROVED

    keep_trials(files, BOOT, PROVED)
    assert read_trials(files, BOOT) == PROVED


def test_another_boot_proves_nothing_and_is_dropped(files: HostFiles) -> None:
    keep_trials(files, "another boot", PROVED)

    assert read_trials(files, BOOT) == NO_TRIALS
    keep_trials(files, BOOT, OTHER)
    assert "another boot" not in _file(files).read_text()
    assert len(_file(files).read_text().splitlines()) == 1


def test_where_the_boot_is_not_known_nothing_is_proved(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)

    assert read_trials(files, None) == NO_TRIALS


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"nonsense\n\xff\xfe\n", id="no JSON"),
        pytest.param(b'{"boot_id":"x"}\n', id="half"),
        pytest.param(b'{"boot_id":1,"location":"x","id":"y","enabled":true}\n', id="types"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_what_makes_no_sense_proves_nothing_and_is_replaced(
    files: HostFiles, broken: bytes
) -> None:
    keep_trials(files, BOOT, PROVED)
    _file(files).write_bytes(broken)
    assert read_trials(files, BOOT) == NO_TRIALS

    keep_trials(files, BOOT, OTHER)

    assert read_trials(files, BOOT) == OTHER


def test_a_line_that_a_full_disk_cut_off_does_not_spoil_the_others(files: HostFiles) -> None:
    keep_trials(files, BOOT, AtsTrials(frozenset({FIRST, SECOND})))
    whole = _file(files).read_bytes()
    _file(files).write_bytes(whole[:-5])

    assert read_trials(files, BOOT) == PROVED


def test_a_full_disk_leaves_what_was_remembered(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)

    with files_of_at_most(10), pytest.raises(NotPermittedError) as raised:
        keep_trials(files, BOOT, OTHER)

    assert read_trials(files, BOOT) == PROVED
    assert raised.value.hint == "free some space: df -h /var/lib"


def test_a_missing_var_is_told(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=False)

    with pytest.raises(NotPermittedError) as raised:
        keep_trials(files, BOOT, PROVED)

    assert str(raised.value) == (
        f"cannot keep the proofs of ATS in {tmp_path}/var/lib/pcietune: No such file or directory"
    )
    assert raised.value.hint == "is /var/lib mounted?"


def test_a_recording_is_given_what_it_lacks(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=True)

    keep_trials(files, BOOT, PROVED)

    assert read_trials(files, BOOT) == PROVED


def test_a_file_that_others_may_write_proves_nothing(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)
    _file(files).chmod(0o666)

    assert read_trials(files, BOOT) == NO_TRIALS


def test_a_link_proves_nothing_and_is_replaced_not_followed(
    tmp_path: Path, files: HostFiles
) -> None:
    keep_trials(files, BOOT, PROVED)
    elsewhere = tmp_path / "elsewhere"
    _file(files).rename(elsewhere)
    _file(files).symlink_to(elsewhere)
    before = elsewhere.read_bytes()

    assert read_trials(files, BOOT) == NO_TRIALS
    keep_trials(files, BOOT, OTHER)

    assert elsewhere.read_bytes() == before
    assert not _file(files).is_symlink()


def test_a_directory_that_others_may_write_is_refused(files: HostFiles) -> None:
    directory = files.root / "var/lib/pcietune"
    directory.mkdir()
    directory.chmod(0o777)

    with pytest.raises(BadInputError, match="may be written by others than root"):
        keep_trials(files, BOOT, PROVED)


def test_only_root_may_read_it(files: HostFiles) -> None:
    keep_trials(files, BOOT, PROVED)

    assert _file(files).stat().st_mode & 0o777 == 0o600
