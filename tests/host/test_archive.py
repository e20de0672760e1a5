"""Host archives are unpacked with suspicion: somebody else may have made them."""

import gzip
import io
import os
import subprocess
import tarfile
import tty
from contextlib import suppress
from pathlib import Path

import pytest
from host.hindered import as_nobody, files_of_at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees.machines import one_switch

from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.host.recordings.archive import pack, unpack, unpack_stream

KIBIBYTE = 1024


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    path = tmp_path / "unpacked"
    path.mkdir()
    return path


@pytest.mark.parametrize("name", ["host.tar", "host.tar.gz"])
def test_a_tree_comes_back_as_it_was_packed(tmp_path: Path, destination: Path, name: str) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("manifest.json", "{}")

    pack(tree.root, tmp_path / name)
    unpack(tmp_path / name, destination)

    assert _contents(destination) == _contents(tree.root)


@pytest.mark.parametrize("name", ["host.tar", "host.tar.gz"])
def test_an_archive_may_come_through_a_pipe(tmp_path: Path, destination: Path, name: str) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("manifest.json", "{}")
    pack(tree.root, tmp_path / name)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with subprocess.Popen(["dd", f"if={tmp_path / name}", f"of={pipe}", "status=none"]):
        unpack(pipe, destination)

    assert _contents(destination) == _contents(tree.root)


def test_the_name_decides_whether_an_archive_is_compressed(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("manifest.json", "{}")

    pack(tree.root, tmp_path / "host.tar")
    pack(tree.root, tmp_path / "host.tar.gz")

    assert tarfile.is_tarfile(tmp_path / "host.tar")
    assert gzip.decompress((tmp_path / "host.tar.gz").read_bytes()) == (
        (tmp_path / "host.tar").read_bytes()
    )


def test_an_archive_replaces_the_one_before_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("manifest.json", "{}")
    (tmp_path / "out").mkdir()

    pack(tree.root, tmp_path / "out/host.tar")
    first = (tmp_path / "out/host.tar").read_bytes()
    pack(tree.root, tmp_path / "out/host.tar")

    assert (tmp_path / "out/host.tar").read_bytes() == first
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["host.tar"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        pytest.param("nowhere/host.tar", "No such file or directory", id="no such directory"),
        pytest.param("file/host.tar", "Not a directory", id="below a file"),
        pytest.param("directory", "Is a directory", id="a directory"),
        pytest.param("directory/..", "Device or resource busy", id="dots"),
        pytest.param("a" * 300, "File name too long", id="too long"),
    ],
)
def test_a_place_where_no_archive_can_be_is_bad_input(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()

    with pytest.raises(BadInputError) as raised:
        pack(tmp_path / "tree", tmp_path / place)

    assert str(raised.value) == f"cannot write {tmp_path}/{place}: {why}"
    assert raised.value.hint == "name a file in a directory that exists"
    assert raised.value.exit_code == ExitCode.BAD_INPUT


def test_an_archive_that_may_not_be_written_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "out").mkdir(mode=0o500)

    with as_nobody(), pytest.raises(NotPermittedError) as raised:
        pack(tmp_path / "tree", tmp_path / "out/host.tar")

    assert str(raised.value) == f"cannot write {tmp_path}/out/host.tar: Permission denied"
    assert raised.value.exit_code == ExitCode.NOT_PERMITTED


def test_an_archive_for_which_there_is_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    (tmp_path / "out").mkdir()

    with files_of_at_most(1000), pytest.raises(NotPermittedError, match=r": File too large$"):
        pack(tree.root, tmp_path / "out/host.tar")

    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../outside", "/outside", "sys/../../outside"], ids=["above", "absolute", "winding"]
)
def test_a_member_that_lies_outside_is_refused(
    tmp_path: Path, destination: Path, name: str
) -> None:
    archive = _tar(tmp_path, _file(name))

    with pytest.raises(BadInputError) as raised:
        unpack(archive, destination)

    assert str(raised.value) == f"{archive}: member {name!r} lies outside"
    assert raised.value.hint.endswith("make one on the host: pcietune record FILE")
    assert raised.value.exit_code == ExitCode.BAD_INPUT
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "../.."])
def test_a_link_that_leads_outside_is_refused(
    tmp_path: Path, destination: Path, target: str
) -> None:
    archive = _tar(tmp_path, _member("sys/link", tarfile.SYMTYPE, target))

    with pytest.raises(BadInputError, match=r"member 'sys/link' leads outside, to "):
        unpack(archive, destination)


def test_an_archive_without_a_manifest_is_not_pcietunes(tmp_path: Path, destination: Path) -> None:
    archive = _tar(tmp_path, _file("sys/one"))

    with pytest.raises(BadInputError) as raised:
        unpack(archive, destination)

    assert str(raised.value) == (
        f"{archive} is not a host archive, or is damaged: it lacks manifest.json, which comes last"
    )


def test_no_file_is_written_through_a_link(tmp_path: Path, destination: Path) -> None:
    (destination / "elsewhere").mkdir()
    archive = _tar(tmp_path, _member("sys", tarfile.SYMTYPE, "elsewhere"), _file("sys/written"))

    with pytest.raises(BadInputError, match=r"is damaged"):
        unpack(archive, destination)

    assert list((destination / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(tarfile.LNKTYPE, id="a hard link"),
        pytest.param(tarfile.CHRTYPE, id="a device"),
        pytest.param(tarfile.FIFOTYPE, id="a pipe"),
    ],
)
def test_a_member_that_sysfs_has_not_is_refused(
    tmp_path: Path, destination: Path, kind: bytes
) -> None:
    archive = _tar(tmp_path, _member("sys/odd", kind, "manifest.json"))

    with pytest.raises(
        BadInputError, match=r"'sys/odd' is neither a file, a directory nor a symbolic link"
    ):
        unpack(archive, destination)


def test_a_name_longer_than_any_files_is_the_archives_fault(
    tmp_path: Path, destination: Path
) -> None:
    archive = _tar(tmp_path, _file("x" * 300, b""))

    with pytest.raises(BadInputError, match="File name too long") as raised:
        unpack(archive, destination)

    assert raised.value.hint == "make one on the host: pcietune record FILE"


def test_a_file_larger_than_any_of_sysfs_is_refused(tmp_path: Path, destination: Path) -> None:
    archive = _tar(tmp_path, _file("sys/large", bytes(64 * KIBIBYTE + 1)))

    with pytest.raises(BadInputError, match=r"'sys/large' has 65537 bytes, more than 65536"):
        unpack(archive, destination)


def test_more_members_than_any_host_needs_are_refused(tmp_path: Path, destination: Path) -> None:
    archive = _tar(tmp_path, _file("sys/1"), _file("sys/2"), _file("manifest.json", b"{}"))

    unpack(archive, destination, most_members=3)
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInputError, match=r"is damaged: it holds more than 2 members$"):
        unpack(archive, tmp_path / "other", most_members=2)


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path, destination: Path) -> None:
    archive = _tar(tmp_path, _file("sys/twice", b"1"), _file("sys/twice", b"2"))

    with pytest.raises(BadInputError, match=r"is damaged"):
        unpack(archive, destination)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"version: 1\nsummary: a profile\n", id="text"),
        pytest.param(b"\x1f\x8b\x08\x00 no gzip", id="broken gzip"),
        pytest.param(gzip.compress(b"no tar"), id="gzip of something else"),
    ],
)
def test_what_is_no_archive_is_said_to_be_none(
    tmp_path: Path, destination: Path, data: bytes
) -> None:
    archive = tmp_path / "host.tar"
    archive.write_bytes(data)

    with pytest.raises(BadInputError, match=r"host\.tar is not a host archive, or is damaged"):
        unpack(archive, destination)


@pytest.mark.parametrize("name", ["host.tar", "host.tar.gz"])
@pytest.mark.parametrize("eighths", range(1, 8))
def test_an_archive_that_was_cut_off_is_refused(
    tmp_path: Path, destination: Path, name: str, eighths: int
) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("manifest.json", "{}")
    pack(tree.root, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) * eighths // 8 // 512 * 512])

    with pytest.raises(BadInputError, match=r"is not a host archive, or is damaged: "):
        unpack(tmp_path / name, destination)


def test_an_archive_that_stops_being_readable_is_said_to_do_so(
    tmp_path: Path, destination: Path
) -> None:
    """A terminal's master gives EIO once nobody has the other end open (pty(7))."""
    archive = _tar(tmp_path, _file("sys/one", b"1" * KIBIBYTE))
    master, end = os.openpty()
    tty.setraw(end)
    os.write(end, archive.read_bytes()[:KIBIBYTE])
    os.close(end)

    with (
        os.fdopen(master, "rb") as stream,
        pytest.raises(BadInputError, match="what follows cannot be read: Input/output error"),
    ):
        unpack_stream(stream, archive, destination)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(position=st.integers(0, 20 * KIBIBYTE - 1), value=st.integers(0, 255))
def test_a_changed_byte_gives_a_tree_or_a_complaint(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int
) -> None:
    directory = tmp_path_factory.mktemp("changed")
    archive = _tar(directory, _file("sys/one", b"1" * 600), _file("manifest.json", b"{}"))
    data = bytearray(archive.read_bytes())
    data[position % len(data)] = value
    archive.write_bytes(data)
    (directory / "unpacked").mkdir()

    with suppress(BadInputError):
        unpack(archive, directory / "unpacked")


def _contents(root: Path) -> dict[str, bytes | str | None]:
    """Return all that is below ``root``: bytes of files, targets of links, None for folders."""
    found: dict[str, bytes | str | None] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def _file(name: str, data: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    return member, data


def _member(name: str, kind: bytes, target: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member, b""


def _tar(directory: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = directory / "host.tar"
    with tarfile.open(path, "w") as tar:
        for member, data in members:
            tar.addfile(member, io.BytesIO(data))
    return path
