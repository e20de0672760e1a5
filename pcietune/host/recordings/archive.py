"""Host archives: a recorded tree in a tar file, unpacked with suspicion."""

import errno
import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from pcietune import __version__
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.recordings.manifest import MANIFEST, Manifest
from pcietune.host.result_file import result_file

_LARGEST_FILE = 0x10000  # bytes; Configuration Space has 4096, a sysfs attribute at most a page
_LARGEST_MANIFEST = 0x2000000  # bytes
_LARGEST_ARCHIVE = 0x40000000  # bytes, uncompressed; 65,536 functions need less
_MOST_MEMBERS = 1_000_000  # files, directories and links; 16,384 functions have 40 each
_GZIP_MAGIC = b"\x1f\x8b"
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_OFFSET = 257  # bytes
_DAMAGE = (
    tarfile.TarError,
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    FileExistsError,  # two members of one name,
    NotADirectoryError,  # or one below a file
    ValueError,  # a name that no file can have
)
_BAD_NAMES = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
_MAKE_ONE = "make one on the host: pcietune record FILE"

Plain = io.BufferedReader | gzip.GzipFile
"""The uncompressed content of a file."""


def pack(root: Path, destination: Path) -> None:
    """Write the recorded tree at ``root`` as a host archive, whole or not at all.

    The same tree always gives the same bytes: members are sorted and carry no time and no owner.

    Raises:
        BadInputError: No file can be of that name there.
        NotPermittedError: The destination may not be written, or there is no room.
    """
    with result_file(destination) as file:
        _write(root, file, compressed=destination.suffix == ".gz")


def unpack(archive: Path, destination: Path, *, most_members: int = _MOST_MEMBERS) -> None:
    """Write what a host archive holds below ``destination``, an empty directory.

    Only files of bounded size, directories and links that stay inside are accepted, and only so
    many: each takes memory, however little it holds. No file can be written through a link of the
    archive, since links are made last.

    Raises:
        BadInputError: The archive cannot be read, or a member is not one that pcietune makes.
        NotPermittedError: The archive may not be read, or there is no room for what it holds.
    """
    with opened(archive) as stream:
        unpack_stream(stream, archive, destination, most_members=most_members)


def unpack_stream(
    stream: Plain, archive: Path, destination: Path, *, most_members: int = _MOST_MEMBERS
) -> None:
    """As ``unpack``, of an archive that was opened already."""
    links: list[tuple[Path, str]] = []
    with damage_named(archive):
        with tarfile.open(fileobj=_Bounded(stream), mode="r|") as tar:
            for number, member in enumerate(tar):
                if number == most_members:
                    raise tarfile.ReadError(f"it holds more than {most_members} members")
                target = destination / _checked_name(archive, member)
                if member.issym():
                    links.append((target, _checked_link(archive, member)))
                else:
                    _extract(archive, tar, member, target)
        for target, link in links:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(link)
        if not (destination / MANIFEST).is_file():
            raise tarfile.ReadError(f"it lacks {MANIFEST}, which comes last")


@contextmanager
def opened(path: Path) -> Iterator[Plain]:
    """Yield the uncompressed content of a file, which may be a pipe.

    Raises:
        BadInputError: Nothing of it can be read.
        NotPermittedError: It may not be read.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise NotPermittedError(
            f"cannot read {path}: {error.strerror}", hint="run pcietune as root"
        ) from error
    with file:
        try:
            head = file.peek(len(_GZIP_MAGIC))
        except OSError as error:  # as of the kernel's files that have no beginning
            raise BadInputError(f"cannot read {path}: {error.strerror}", hint=_MAKE_ONE) from error
        yield gzip.GzipFile(fileobj=file) if head.startswith(_GZIP_MAGIC) else file


def is_archive(stream: Plain) -> bool:
    """Return whether a stream that nothing was read from yet is a tar file."""
    head = stream.peek(_TAR_MAGIC_OFFSET + len(_TAR_MAGIC))
    return head[_TAR_MAGIC_OFFSET:].startswith(_TAR_MAGIC)


@contextmanager
def damage_named(archive: Path) -> Iterator[None]:
    """Tell what is wrong with an archive that is read.

    Raises:
        BadInputError: It is damaged.
        NotPermittedError: It may not be read, or there is no room for what it holds.
    """
    try:
        yield
    except _DAMAGE as error:
        raise BadInputError(
            f"{archive} is not a host archive, or is damaged: {error}", hint=_MAKE_ONE
        ) from error
    except OSError as error:
        said = f"cannot unpack {archive}: {error.strerror}"
        if error.errno in _BAD_NAMES:
            raise BadInputError(said, hint=_MAKE_ONE) from error
        raise NotPermittedError(
            said, hint="name another place in the environment: TMPDIR=/var/tmp"
        ) from error


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than an archive can hold."""

    def __init__(self, stream: Plain) -> None:
        self._stream = stream
        self._left = _LARGEST_ARCHIVE

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(size)
        except gzip.BadGzipFile:
            raise
        except OSError as error:
            raise tarfile.ReadError(f"what follows cannot be read: {error.strerror}") from error
        self._left -= len(data)
        if self._left < 0:
            raise tarfile.ReadError(f"it holds more than {_LARGEST_ARCHIVE} bytes")
        return data


def _checked_name(archive: Path, member: tarfile.TarInfo) -> PurePosixPath:
    """Return where a member goes, relative to the tree's root."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        raise _suspicious(archive, member, "lies outside")
    return name


def _checked_link(archive: Path, member: tarfile.TarInfo) -> str:
    """Return where a link points, once it is known to stay inside."""
    target = os.path.normpath(PurePosixPath(member.name).parent / member.linkname)
    if target.startswith(("/", "../")) or target == "..":
        raise _suspicious(archive, member, f"leads outside, to {member.linkname}")
    return member.linkname


def _extract(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    if not member.isreg() or member.issparse():
        raise _suspicious(archive, member, "is neither a file, a directory nor a symbolic link")
    largest = _LARGEST_MANIFEST if member.name == MANIFEST else _LARGEST_FILE
    if member.size > largest:
        raise _suspicious(archive, member, f"has {member.size} bytes, more than {largest}")
    content = tar.extractfile(member)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        file.write(content.read() if content else b"")


def _suspicious(archive: Path, member: tarfile.TarInfo, what: str) -> BadInputError:
    return BadInputError(
        f"{archive}: member {member.name!r} {what}",
        hint=f"pcietune makes no such archive; {_MAKE_ONE}",
    )


def _write(root: Path, file: IO[bytes], *, compressed: bool) -> None:
    stream = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) if compressed else file
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path in _members(root):
            _add(tar, path, str(path.relative_to(root)))
        if not (root / MANIFEST).exists():
            _add_manifest(tar)
    if compressed:
        stream.close()


def _members(root: Path) -> Iterator[Path]:
    """Yield the tree from the top and the manifest last, so that a cut archive lacks it."""
    for path in sorted(root.rglob("*")):
        if path != root / MANIFEST:
            yield path
    if (root / MANIFEST).exists():
        yield root / MANIFEST


def _add_manifest(tar: tarfile.TarFile) -> None:
    """Say of a tree without a manifest that nothing is known to be lacking."""
    data = Manifest(pcietune=__version__).encode()
    member = tarfile.TarInfo(MANIFEST)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    if path.is_symlink():
        member.type = tarfile.SYMTYPE
        member.linkname = str(path.readlink())
        tar.addfile(member)
    elif path.is_dir():
        member.type = tarfile.DIRTYPE
        member.mode = 0o755
        tar.addfile(member)
    elif path.is_file():
        member.size = path.stat().st_size
        with path.open("rb") as content:
            tar.addfile(member, content)
