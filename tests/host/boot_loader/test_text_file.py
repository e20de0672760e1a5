"""Text files that are not what they should be, and places that take none."""

import errno
from pathlib import Path

import pytest
from host.boot_loader.roots import put

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.boot_loader.text_file import make_change, read_text
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import FileChange

PATH = "etc/kernel/cmdline"
CHANGE = FileChange(PATH, "old\n", "new\n")


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    return HostFiles(tmp_path, recorded=False)


def test_what_is_not_there_or_cannot_be_there_is_none(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, "etc/file", "")

    assert read_text(files, PATH) is None
    assert read_text(files, "etc/file/cmdline") is None


def test_what_is_no_text_is_told(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, PATH, "").write_bytes(b"\xff\xfe")

    with pytest.raises(BadInputError, match=r"^/etc/kernel/cmdline is no text"):
        read_text(files, PATH)


def test_a_directory_in_its_place_is_told(tmp_path: Path, files: HostFiles) -> None:
    (tmp_path / PATH).mkdir(parents=True)

    with pytest.raises(NotPermittedError, match=r"^/etc/kernel/cmdline cannot be read: Is a dir"):
        read_text(files, PATH)
    with pytest.raises(BadInputError, match="is no plain file, so it is not replaced"):
        make_change(files, CHANGE)


def test_a_link_is_not_replaced(tmp_path: Path, files: HostFiles) -> None:
    target = put(tmp_path, "etc/elsewhere", "old\n")
    (tmp_path / "etc/kernel").mkdir()
    (tmp_path / PATH).symlink_to(target)

    with pytest.raises(BadInputError, match="is no plain file"):
        make_change(files, CHANGE)
    assert target.read_text() == "old\n"


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, PATH, "old\n", 0o666)

    with pytest.raises(BadInputError, match="may be written by others"):
        make_change(files, CHANGE)
    assert (tmp_path / PATH).read_text() == "old\n"


def test_a_directory_that_others_may_write_gets_no_file(tmp_path: Path, files: HostFiles) -> None:
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).parent.chmod(0o777)

    with pytest.raises(BadInputError, match="may be written by others"):
        make_change(files, FileChange(PATH, None, "new\n"))
    assert not (tmp_path / PATH).exists()


def test_a_place_that_takes_no_file_is_told(tmp_path: Path, files: HostFiles) -> None:
    put(tmp_path, "etc/kernel", "")

    with pytest.raises(NotPermittedError, match=r"^cannot write /etc/kernel/cmdline: "):
        make_change(files, CHANGE)


def test_a_new_file_may_be_read_by_all_and_written_by_root_alone(
    tmp_path: Path, files: HostFiles
) -> None:
    make_change(files, FileChange(PATH, None, "new\n"))

    assert (tmp_path / PATH).stat().st_mode & 0o777 == 0o644
    assert not (tmp_path / f"{PATH}.before-pcietune").exists()


def test_a_name_that_is_too_long_leaves_nothing_behind(tmp_path: Path, files: HostFiles) -> None:
    name = "x" * 250

    with pytest.raises(NotPermittedError) as said:
        make_change(files, FileChange(f"etc/{name}", None, "new\n"))

    cause = said.value.__cause__
    assert isinstance(cause, OSError)
    assert cause.errno == errno.ENAMETOOLONG
    assert list((tmp_path / "etc").iterdir()) == []
