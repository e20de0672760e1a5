"""The undo record: whole on the disk before each write, and true after a kill."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from host.hindered import as_nobody, files_of_at_most

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import check_owner
from pcietune.host.run.undo_log import UndoLog, read_undo_record
from pcietune.model.undo import (
    AttributeChange,
    Change,
    GroupTypeChange,
    Outcome,
    RecordedChange,
    RegisterChange,
    UndoRecord,
    UndoStore,
)

BOOT = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
GROUP = "0000:20:01.0/00.0"
OTHER_GROUP = "0000:60:01.0/00.0"
FIRST = RegisterChange(
    group=GROUP,
    location="0000:20:01.0/00.0/00.0",
    address=PciAddress.parse("0000:22:00.0"),
    id="1000:c010",
    offset=0x106,
    mask=0x0042,
    old=0x0002,
    new=0x0040,
)
SECOND = replace(FIRST, location="0000:20:01.0/00.0/04.0", address=PciAddress.parse("0000:22:04.0"))
ELSEWHERE = replace(FIRST, group=OTHER_GROUP, location=f"{OTHER_GROUP}/00.0")
ASLEEP = AttributeChange(
    GROUP, FIRST.location, FIRST.address, FIRST.id, "power/control", "auto", "on"
)
SWITCHED = GroupTypeChange(
    f"{GROUP}/04.0/00.0",
    f"{GROUP}/04.0/00.0",
    PciAddress.parse("0000:24:00.0"),
    "15b3:101b",
    iommu_group=42,
    old="identity",
    new="DMA",
)


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    (tmp_path / "run").mkdir()
    return HostFiles(tmp_path, recorded=False)


def _file(files: HostFiles) -> Path:
    return files.root / "run/pcietune/undo.jsonl"


def _read(files: HostFiles) -> UndoRecord:
    record = read_undo_record(files)
    assert record is not None
    return record


def _outcomes(files: HostFiles) -> list[tuple[Change, Outcome]]:
    return [(change.entry, change.outcome) for change in _read(files).changes]


def test_it_is_an_undo_store_as_tune_knows_one(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        store: UndoStore = log
        store.begin(FIRST)

    assert _read(files).unfinished == (FIRST,)


def test_without_a_record_there_is_none(files: HostFiles) -> None:
    assert read_undo_record(files) is None


def test_a_change_is_on_the_disk_when_begin_returns(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)

        assert _read(files).boot_id == BOOT
        assert _outcomes(files) == [(FIRST, Outcome.BEGUN)]


def test_settling_a_group_settles_what_was_begun_in_it(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.begin(ELSEWHERE)
        log.begin(SECOND)
        log.settle(GROUP, kept=True)

    assert _outcomes(files) == [
        (FIRST, Outcome.KEPT),
        (ELSEWHERE, Outcome.BEGUN),
        (SECOND, Outcome.KEPT),
    ]


def test_what_was_kept_stays_kept_when_a_later_change_of_the_group_is_undone(
    files: HostFiles,
) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.settle(GROUP, kept=True)
    with UndoLog.open(files, BOOT) as log:
        log.begin(SECOND)
        log.settle(GROUP, kept=False)

    assert _outcomes(files) == [(FIRST, Outcome.KEPT), (SECOND, Outcome.UNDONE)]


def test_what_a_run_undoes_after_it_was_kept_is_undone(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.settle(GROUP, kept=True)
        log.begin(ELSEWHERE)
        log.settle(GROUP, kept=False)

    assert _outcomes(files) == [(FIRST, Outcome.UNDONE), (ELSEWHERE, Outcome.BEGUN)]


def test_attributes_and_types_are_recorded_as_registers_are(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.begin(ASLEEP)
        log.settle(GROUP, kept=True)
        log.begin(SWITCHED)
        assert _read(files).unfinished == (SWITCHED,)
        log.settle(SWITCHED.group, kept=False)

    assert _outcomes(files) == [
        (FIRST, Outcome.KEPT),
        (ASLEEP, Outcome.KEPT),
        (SWITCHED, Outcome.UNDONE),
    ]


def test_a_record_that_is_replaced_keeps_attributes_and_types(files: HostFiles) -> None:
    left = tuple(RecordedChange(entry, Outcome.BEGUN) for entry in (ASLEEP, SWITCHED))
    with UndoLog.open(files, BOOT) as log:
        log.replace(UndoRecord(BOOT, left))
        log.note_found(FIRST)

    assert _read(files) == UndoRecord(BOOT, left, (FIRST,))


def test_the_record_of_another_boot_is_read_but_not_continued(files: HostFiles) -> None:
    with UndoLog.open(files, "another boot") as log:
        log.begin(FIRST)
    before = _read(files)

    with UndoLog.open(files, BOOT) as log:
        log.begin(SECOND)

    assert (before.boot_id, before.unfinished) == ("another boot", (FIRST,))
    assert (_read(files).boot_id, _read(files).unfinished) == (BOOT, (SECOND,))


def test_bits_that_were_found_set_are_noted_once(files: HostFiles) -> None:
    for _ in range(2):
        with UndoLog.open(files, BOOT) as log:
            log.note_found(FIRST)

    assert _read(files).found == (FIRST,)
    assert len(_file(files).read_text().splitlines()) == 2


def test_bits_that_pcietune_set_itself_are_never_noted_as_found(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(replace(FIRST, mask=0x40, old=0, new=0x40))
        log.note_found(replace(FIRST, mask=0x44, old=0x44, new=0x44))

    assert _read(files).found == (replace(FIRST, mask=0x04, old=0x04, new=0x04),)


def test_a_record_that_is_replaced_holds_what_was_left_and_can_go_on(files: HostFiles) -> None:
    kept = RecordedChange(ELSEWHERE, Outcome.KEPT)
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.settle(GROUP, kept=True)
        log.replace(UndoRecord(BOOT, (kept,), (SECOND,)))
        log.begin(FIRST)

    assert _read(files).changes == (kept, RecordedChange(FIRST, Outcome.BEGUN))
    assert _read(files).found == (SECOND,)


def test_wherever_a_kill_cuts_the_last_line_the_lines_before_it_hold(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        whole = _file(files).read_bytes()
        log.begin(SECOND)
    both = _file(files).read_bytes()

    for length in range(len(whole), len(both)):
        _file(files).write_bytes(both[:length])

        assert _read(files).unfinished == (FIRST,)


def test_a_line_that_a_kill_cut_off_does_not_spoil_the_next(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
    with _file(files).open("ab") as file:
        file.write(b'{"type":"begun","cha')

    with UndoLog.open(files, BOOT) as log:
        log.begin(SECOND)

    assert _read(files).unfinished == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param("no JSON", "JSON is malformed", id="no JSON"),
        pytest.param('{"type":"undone"}', "Invalid value 'undone' - at `$.type`", id="unknown"),
        pytest.param('{"type":"settled","group":"x"}', "missing required field", id="half"),
        pytest.param(
            '{"type":"settled","group":"x","outcome":"lost"}', "Invalid enum value", id="outcome"
        ),
        pytest.param(
            '{"type":"header","boot_id":"x","pcietune":"1"}', "a second header", id="header"
        ),
    ],
)
def test_a_broken_line_is_named_with_file_and_number(
    files: HostFiles, line: str, what: str
) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
    with _file(files).open("a") as file:
        file.write(f"{line}\n")

    with pytest.raises(BadInputError) as raised:
        read_undo_record(files)

    assert str(raised.value).startswith(f"{_file(files)}:4: the undo record is broken: ")
    assert what in str(raised.value)
    assert f"rm {_file(files)}" in raised.value.hint
    assert raised.value.exit_code == ExitCode.BAD_INPUT


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("", id="empty"),
        pytest.param('{"type":"settled","group":"x","outcome":"kept"}\n', id="another line"),
        pytest.param(
            '{"type":"header","boot_id":"x","pcietune":"9","version":2}\n', id="a later version"
        ),
    ],
)
def test_a_file_without_a_header_is_no_undo_record(files: HostFiles, header: str) -> None:
    (files.root / "run/pcietune").mkdir()
    _file(files).write_text(header)

    with pytest.raises(BadInputError, match=r"undo\.jsonl:1: the undo record is broken: "):
        UndoLog.open(files, BOOT)


def test_only_root_may_read_the_record_and_only_root_may_write_its_directory(
    files: HostFiles,
) -> None:
    UndoLog.open(files, BOOT).close()

    assert _file(files).stat().st_mode & 0o777 == 0o600
    assert _file(files).parent.stat().st_mode & 0o777 == 0o755


def test_a_missing_run_is_told_before_anything_is_written(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=False)

    with pytest.raises(NotPermittedError) as raised:
        UndoLog.open(files, BOOT)

    assert str(raised.value) == (
        f"cannot keep the undo record in {tmp_path}/run/pcietune: No such file or directory"
    )
    assert raised.value.hint == "is /run mounted?"
    assert raised.value.exit_code == ExitCode.NOT_PERMITTED


def test_a_recording_that_lacks_run_is_given_one(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=True)

    UndoLog.open(files, BOOT).close()

    assert _read(files).boot_id == BOOT


def test_a_disk_without_room_for_the_header_is_told_before_anything_is_written(
    files: HostFiles,
) -> None:
    with files_of_at_most(10), pytest.raises(NotPermittedError) as raised:
        UndoLog.open(files, BOOT)

    assert str(raised.value) == (
        f"cannot keep the undo record in {files.root}/run/pcietune: No space left on device"
    )
    assert raised.value.hint == "free some space: df -h /run"
    assert read_undo_record(files) is None


def test_a_line_for_which_there_is_no_room_is_taken_back(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        whole = _file(files).read_bytes()
        with files_of_at_most(len(whole) + 10), pytest.raises(NotPermittedError):
            log.begin(SECOND)

        assert _file(files).read_bytes() == whole
        log.settle(GROUP, kept=False)

    assert _outcomes(files) == [(FIRST, Outcome.UNDONE)]


def test_a_link_in_place_of_the_record_is_not_followed(tmp_path: Path, files: HostFiles) -> None:
    (tmp_path / "run/pcietune").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    _file(files).symlink_to(victim)

    with pytest.raises(NotPermittedError, match=r"Too many levels of symbolic links"):
        UndoLog.open(files, BOOT)

    assert victim.read_text() == "precious"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_plain_file_is_no_record_and_is_not_waited_for(
    files: HostFiles, make: Callable[[Path], None]
) -> None:
    (files.root / "run/pcietune").mkdir()
    make(_file(files))

    for read in (lambda: read_undo_record(files), lambda: UndoLog.open(files, BOOT)):
        with pytest.raises(BadInputError, match=r"undo\.jsonl is no plain file$"):
            read()


def test_a_record_that_this_user_may_not_read_has_a_hint(files: HostFiles) -> None:
    UndoLog.open(files, BOOT).close()
    files.root.chmod(0o755)
    with as_nobody(), pytest.raises(NotPermittedError, match="cannot read") as raised:
        read_undo_record(files)

    assert raised.value.hint == "run pcietune as root"


def test_a_long_record_is_read_in_no_more_time_for_each_line(files: HostFiles) -> None:
    with UndoLog.open(files, BOOT) as log:
        log.begin(FIRST)
        log.settle(GROUP, kept=True)
    header, *lines = _file(files).read_bytes().splitlines(keepends=True)
    _file(files).write_bytes(header + b"".join(lines) * 50_000)

    start = time.monotonic()
    assert len(_read(files).changes) == 50_000

    assert time.monotonic() - start < 30  # a second; half an hour if each line looked at all


def test_a_directory_that_others_may_write_is_refused(files: HostFiles) -> None:
    directory = files.root / "run/pcietune"
    directory.mkdir()
    directory.chmod(0o777)

    with pytest.raises(BadInputError) as raised:
        UndoLog.open(files, BOOT)

    assert str(raised.value) == f"{directory} may be written by others than root"
    assert raised.value.hint == f"chmod go-w {directory}"


def test_a_linked_directory_is_refused(tmp_path: Path, files: HostFiles) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run/pcietune").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadInputError, match=r"run/pcietune is a link$"):
        UndoLog.open(files, BOOT)


def test_a_record_that_somebody_else_made_is_refused(files: HostFiles) -> None:
    UndoLog.open(files, BOOT).close()
    ours = _file(files).lstat()
    theirs = os.stat_result((*ours[:4], 65534, *ours[5:10]))  # only root could give a file away

    with pytest.raises(BadInputError, match=r"undo\.jsonl belongs to user 65534, not to root$"):
        check_owner(files, _file(files), theirs)


def test_a_record_that_somebody_else_could_change_is_refused(files: HostFiles) -> None:
    UndoLog.open(files, BOOT).close()
    _file(files).chmod(0o666)

    with pytest.raises(BadInputError, match=r"undo\.jsonl may be written by others than root"):
        read_undo_record(files)
