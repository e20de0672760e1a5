"""Where a host comes from: the machine itself, a host archive, or a directory like one."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.archive import unpack
from pcietune.host.functions import DEVICES
from pcietune.host.host_files import HostFiles
from pcietune.host.manifest import MANIFEST, decode_manifest
from pcietune.host.sysfs import SysfsHost
from pcietune.host.temporary import temporary_directory

_LIVE_ROOT = Path("/")


@contextmanager
def open_host(source: Path | None, *, copied: bool = False) -> Iterator[SysfsHost]:
    """Yield the host that ``source`` names; None means the one that pcietune runs on.

    An archive is unpacked to a directory of its own, which is removed in the end. What is written
    to a recorded host changes only that directory: ``pack`` makes an archive of it.

    Args:
        source: A host archive, or a directory of the same shape.
        copied: Whether to copy a directory too, so that what is written does not change it.

    Raises:
        BadInputError: There is no recorded host, or it is not one that pcietune makes.
        NotPermittedError: It may not be read.
    """
    if source is None:
        yield SysfsHost(HostFiles(_LIVE_ROOT, recorded=False))
        return
    is_directory = _is_directory(source)
    if is_directory and not copied:
        yield _recorded(source, source)
        return
    with temporary_directory() as directory:
        root = directory / "host"
        if is_directory:
            _check_directory(source)
            _copy(source, root)
        else:
            root.mkdir()
            unpack(source, root)
        yield _recorded(root, source)


def _is_directory(source: Path) -> bool:
    try:
        return stat.S_ISDIR(source.stat().st_mode)
    except PermissionError as error:
        raise NotPermittedError(
            f"{source}: this user may not look there", hint="run pcietune as root"
        ) from error
    except FileNotFoundError as error:
        raise BadInputError(
            f"{source}: there is no such file or directory",
            hint="name a file that pcietune record made",
        ) from error
    except OSError as error:
        raise BadInputError(f"{source}: {error.strerror}") from error


def _copy(source: Path, root: Path) -> None:
    try:
        shutil.copytree(source, root, symlinks=True)
    except shutil.Error as error:  # one for all files; the first will do
        file, _, why = error.args[0][0]
        raise NotPermittedError(f"cannot copy {file}: {why}") from error
    except OSError as error:
        raise NotPermittedError(f"cannot copy {source}: {error.strerror}") from error


def _recorded(root: Path, source: Path) -> SysfsHost:
    """Return the host recorded at ``root``; a directory may lack the manifest, and has all then."""
    _check_directory(root)
    files = HostFiles(root, recorded=True)
    if not files.is_directory(DEVICES):
        raise BadInputError(
            f"{source} is not a recorded host: it lacks /{DEVICES}",
            hint="make one on the host: pcietune record FILE",
        )
    if not files.exists(MANIFEST):
        return SysfsHost(files)
    try:
        data = Path(files.path(MANIFEST)).read_bytes()
    except OSError as error:
        raise BadInputError(f"{source}: {MANIFEST} cannot be read: {error.strerror}") from error
    return SysfsHost(files, unread=decode_manifest(data, str(source)).unread_by_address())


def _check_directory(root: Path) -> None:
    """Refuse the live host's own root, where a write would reach the hardware."""
    if root.samefile(_LIVE_ROOT):
        raise BadInputError(
            f"{root} is this machine, not a recorded host", hint="leave out --from to look at it"
        )
