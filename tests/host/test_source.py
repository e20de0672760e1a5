"""Where a host comes from."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from host.hindered import as_nobody, files_of_at_most
from trees.dump import dump, one_switch_functions
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.archive import opened, pack
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.registers.fields import MaskedWrite

SET_DIRECT_TRANS = MaskedWrite(offset=0x106, width=2, value=0x40, mask=0x40)
PORT = 3  # 0000:22:04.0


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    return one_switch(tmp_path / "host")


@pytest.fixture
def archive(tmp_path: Path, tree: TreeHost) -> Path:
    path = tmp_path / "host.tar"
    record(SysfsHost(HostFiles(tree.root, recorded=False)), path)
    return path


def test_without_a_source_it_is_this_machine() -> None:
    with open_host(None) as host:
        assert host.root == Path("/")
        assert not host.recorded
        assert host.platform().kernel == Path("/proc/sys/kernel/osrelease").read_text().strip()


def test_an_unpacked_archive_is_gone_afterwards(archive: Path) -> None:
    with open_host([archive]) as host:
        root = host.root
        assert host.recorded
        assert root.is_dir()

    assert not root.exists()


def test_writing_to_an_archives_host_leaves_the_archive_alone(archive: Path) -> None:
    before = archive.read_bytes()

    with open_host([archive]) as host:
        host.write(host.functions()[PORT], SET_DIRECT_TRANS)

    assert archive.read_bytes() == before


def test_what_was_written_can_be_packed_and_read_again(tmp_path: Path, archive: Path) -> None:
    with open_host([archive]) as host:
        host.write(host.functions()[PORT], SET_DIRECT_TRANS)
        pack(host.root, tmp_path / "after.tar")

    with open_host([tmp_path / "after.tar"]) as host:
        assert host.config(host.functions()[PORT]).read(0x106, 2) == 0x5D


def test_a_directory_of_that_shape_is_written_in_place(tree: TreeHost) -> None:
    with open_host([tree.root]) as host:
        host.write(host.functions()[PORT], SET_DIRECT_TRANS)

    assert tree.config("0000:22:04.0").read_bytes()[0x106] == 0x5D


def test_a_copied_directory_stays_as_it_is(tmp_path: Path, tree: TreeHost) -> None:
    with open_host([tree.root], copied=True) as host:
        host.write(host.functions()[PORT], SET_DIRECT_TRANS)
        pack(host.root, tmp_path / "after.tar")

    assert tree.config("0000:22:04.0").read_bytes()[0x106] == 0x1D
    with open_host([tmp_path / "after.tar"]) as after:
        assert after.config(after.functions()[PORT]).read(0x106, 2) == 0x5D


@pytest.mark.parametrize("name", ["host.tar", "host.tar.gz", "host.lspci"])
def test_a_source_may_come_through_a_pipe(tmp_path: Path, tree: TreeHost, name: str) -> None:
    if name == "host.lspci":
        (tmp_path / name).write_text(dump(one_switch_functions()))
    else:
        record(SysfsHost(HostFiles(tree.root, recorded=False)), tmp_path / name)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with (
        subprocess.Popen(["dd", f"if={tmp_path / name}", f"of={pipe}", "status=none"]),
        open_host([pipe]) as host,
    ):
        assert host.config(host.functions()[PORT]).read(0x106, 2) == 0x1D


def test_a_file_that_this_user_may_not_read_is_no_bad_input(archive: Path) -> None:
    with (
        as_nobody(),
        pytest.raises(NotPermittedError, match=r"cannot read .*/host\.tar: Permission denied"),
        opened(archive),
    ):
        pass


def test_a_dump_for_which_there_is_no_room_is_told(tmp_path: Path) -> None:
    file = tmp_path / "host.lspci"
    file.write_text(dump(one_switch_functions()))

    with (
        files_of_at_most(1000),
        pytest.raises(NotPermittedError, match=r"cannot write .*: File too large") as raised,
        open_host([file]),
    ):
        pass

    assert raised.value.hint == "name another place in the environment: TMPDIR=/var/tmp"


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = _refused(tmp_path / "nothing.tar")

    assert str(error) == f"{tmp_path}/nothing.tar: there is no such file or directory"
    assert error.hint == "name a file that pcietune record or lspci -D -xxxx made"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(["/proc/self/mem"], id="alone"),
        pytest.param(["/proc/self/mem", "/proc/cmdline"], id="first of two"),
        pytest.param(["/proc/cmdline", "/proc/self/mem"], id="second of two"),
    ],
)
def test_a_file_that_opens_and_cannot_be_read_is_bad_input(source: list[str]) -> None:
    """Nothing is mapped at address 0 (proc(5)), so read(2) gives EIO."""
    why = "^cannot read /proc/self/mem: Input/output error$"
    with pytest.raises(BadInputError, match=why), open_host([Path(each) for each in source]):
        pass


def test_a_directory_of_another_shape_is_no_host(tmp_path: Path) -> None:
    error = _refused(tmp_path)

    assert str(error) == (f"{tmp_path} is not a recorded host: it lacks /sys/bus/pci/devices")


@pytest.mark.parametrize("source", ["/", "//", "/proc/self/root"])
def test_this_machines_own_root_is_no_recording(source: str) -> None:
    error = _refused(Path(source))

    assert str(error).endswith("is this machine, not a recorded host")
    assert error.hint == "leave out --from to look at it"


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{}", "is not a host archive of pcietune"),
        ('{"format": "something else", "version": 1}', "is not a host archive of pcietune"),
        ('{"format": "pcietune host archive", "version": 2}', "archive version 2 is not known"),
        ("no JSON", "manifest.json is broken: JSON is malformed"),
        ('{"deep": ' + "[" * 100_000, "manifest.json is broken: maximum recursion depth"),
        (
            '{"format": "pcietune host archive", "version": 1, "unread": []}',
            "manifest.json is broken: Expected `object`, got `array` - at `$.unread`",
        ),
        (
            '{"format": "pcietune host archive", "version": 1, "unread": {"3b": {"ranges": []}}}',
            "host: manifest.json is broken: '3b' is not a PCI address",
        ),
    ],
)
def test_a_manifest_that_cannot_be_understood_is_refused(
    tree: TreeHost, manifest: str, message: str
) -> None:
    tree.put("manifest.json", manifest)

    assert message in str(_refused(tree.root))


def test_a_manifest_that_is_no_file_is_refused(tree: TreeHost) -> None:
    (tree.root / "manifest.json").mkdir()

    assert "manifest.json cannot be read: Is a directory" in str(_refused(tree.root))


def test_a_name_that_no_file_can_have_is_refused() -> None:
    assert "File name too long" in str(_refused(Path("x" * 300)))


def test_a_place_where_this_user_may_not_look_is_told_from_one_without_a_file(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o000)

    with (
        as_nobody(),
        pytest.raises(NotPermittedError, match="this user may not look there"),
        open_host([tmp_path / "host.tar"]),
    ):
        pass


def test_a_copy_for_which_there_is_no_room_is_told(tree: TreeHost) -> None:
    with (
        files_of_at_most(1000),
        pytest.raises(NotPermittedError, match=r"cannot copy .*/config: .*File too large"),
        open_host([tree.root], copied=True),
    ):
        pass


def test_a_manifest_that_leads_out_is_refused(tree: TreeHost) -> None:
    (tree.root / "manifest.json").symlink_to("/etc/hostname")

    assert "manifest.json leads out of the recorded host" in str(_refused(tree.root))


def test_a_configuration_space_that_leads_out_is_not_written(
    tmp_path: Path, tree: TreeHost
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(bytes(4096))
    tree.config("0000:22:04.0").unlink()
    tree.config("0000:22:04.0").symlink_to(outside)

    with open_host([tree.root]) as host, pytest.raises(BadInputError, match=r"config leads out"):
        host.write(host.functions()[PORT], SET_DIRECT_TRANS)


def test_an_archive_made_by_tar_is_read_too(tmp_path: Path, archive: Path) -> None:
    with open_host([archive]) as host, tarfile.open(tmp_path / "by-hand.tar.gz", "w:gz") as tar:
        tar.add(host.root, ".")

    with open_host([tmp_path / "by-hand.tar.gz"]) as host:
        assert len(host.functions()) == 6


def _refused(source: Path) -> BadInputError:
    with pytest.raises(BadInputError) as raised, open_host([source]):
        pass
    assert raised.value.exit_code == ExitCode.BAD_INPUT
    return raised.value
