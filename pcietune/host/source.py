"""Where a host comes from: the machine itself, a recording of one, or texts."""

import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.dumps.host_texts import HostTexts
from pcietune.host.dumps.supplement import supplement
from pcietune.host.dumps.text_lines import text_lines
from pcietune.host.dumps.tree import write_tree
from pcietune.host.functions import DEVICES
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.archive import damage_named, is_archive, opened, unpack_stream
from pcietune.host.recordings.manifest import read_manifest
from pcietune.host.sysfs import SysfsHost
from pcietune.host.temporary import temporary_directory

_LIVE_ROOT = Path("/")
_NAME_ONE = "name a file that pcietune record or lspci -D -xxxx made"
_COPY_HINT = "run pcietune as root, or where there is more room: TMPDIR=/var/tmp"


@contextmanager
def open_host(sources: Sequence[Path] | None, *, copied: bool = False) -> Iterator[SysfsHost]:
    """Yield the host that ``sources`` name; none of them means the one that pcietune runs on.

    An archive is unpacked to a directory of its own, which is removed in the end. What is written
    to a recorded host changes only that directory: ``pack`` makes an archive of it.

    Args:
        sources: A host archive, or a directory of the same shape, or a dump by lspci; and texts
            that tell more of the same host.
        copied: Whether to copy a directory too, so that what is written does not change it.

    Raises:
        BadInputError: There is no recorded host, or it is not one that pcietune makes.
        NotPermittedError: It may not be read.
    """
    if not sources:
        yield live_host()
        return
    if len(sources) == 1 and not copied and _is_directory(sources[0]):
        yield _recorded(sources[0], sources[0])
        return
    with temporary_directory() as temporary:
        root = temporary / "host"
        yield _recorded(root, _lay_out(sources, root))


def live_host() -> SysfsHost:
    """Return the host that pcietune runs on, of which nothing was read yet."""
    return SysfsHost(HostFiles(_LIVE_ROOT, recorded=False))


def is_recording(source: Path) -> bool:
    """Return whether ``source`` is an archive or a directory, not a text; errors as ``open_host``.

    A pipe is none: nothing may be taken from it for that.
    """
    if _is_directory(source) or not source.is_file():
        return source.is_dir()
    with opened(source) as stream, damage_named(source):
        return is_archive(stream)


def _lay_out(sources: Sequence[Path], root: Path) -> Path:
    """Write the host that the sources tell of to ``root``; return the recording, or the first."""
    texts = HostTexts()
    recording: Path | None = None
    for source in sources:
        if _is_directory(source):
            recording = _the_only(source, recording)
            _check_directory(source)
            _copy(source, root)
            continue
        with opened(source) as stream:
            with damage_named(source):
                archive = is_archive(stream)
            if archive:
                recording = _the_only(source, recording)
                root.mkdir()
                unpack_stream(stream, source, root)
            else:
                texts.read(text_lines(stream, str(source)), str(source))
    if recording is None:
        texts.check()
        write_tree(texts, root)
    elif len(sources) > 1:
        supplement(root, texts, str(recording))
    return recording or sources[0]


def _the_only(source: Path, recording: Path | None) -> Path:
    if recording is not None:
        raise BadInputError(
            f"{recording} and {source} are two recorded hosts", hint="name one of them"
        )
    return source


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
            hint=_NAME_ONE,
        ) from error
    except OSError as error:
        raise BadInputError(f"{source}: {error.strerror}", hint=_NAME_ONE) from error


def _copy(source: Path, root: Path) -> None:
    try:
        shutil.copytree(source, root, symlinks=True)
    except shutil.Error as error:  # one for all files; the first will do
        file, _, why = error.args[0][0]
        raise NotPermittedError(f"cannot copy {file}: {why}", hint=_COPY_HINT) from error
    except OSError as error:
        raise NotPermittedError(
            f"cannot copy {source}: {error.strerror}", hint=_COPY_HINT
        ) from error


def _recorded(root: Path, source: Path) -> SysfsHost:
    """Return the host recorded at ``root``; a directory may lack the manifest, and has all then."""
    _check_directory(root)
    files = HostFiles(root, recorded=True)
    if not files.is_directory(DEVICES):
        raise BadInputError(
            f"{source} is not a recorded host: it lacks /{DEVICES}",
            hint="make one on the host: pcietune record FILE",
        )
    manifest = read_manifest(root, str(source))
    files.complete = manifest.complete
    unread, use = manifest.unread_by_address(str(source)), manifest.host_use(str(source))
    return SysfsHost(files, unread=unread, use=use)


def _check_directory(root: Path) -> None:
    """Refuse the live host's own root, where a write would reach the hardware."""
    if root.samefile(_LIVE_ROOT):
        raise BadInputError(
            f"{root} is this machine, not a recorded host", hint="leave out --from to look at it"
        )
