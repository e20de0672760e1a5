"""A recorded tree that is written from facts, not copied from a host."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcietune.errors import NotPermittedError


@contextmanager
def room_for(root: Path) -> Iterator[None]:
    """Tell where a tree cannot be written.

    Raises:
        NotPermittedError: There is no room.
    """
    try:
        yield
    except OSError as error:
        raise NotPermittedError(
            f"cannot write {root}: {error.strerror}",
            hint="name another place in the environment: TMPDIR=/var/tmp",
        ) from error


class NewTree:
    """Writes files and relative links below a root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[Path] = set()

    def put(self, path: str, data: str | bytes) -> None:
        """Write a file; text gets the final newline that the kernel prints."""
        file = self._place(path)
        if isinstance(data, str):
            data = f"{data}\n".encode()
        file.write_bytes(data)

    def link(self, path: str, target: str) -> None:
        """Make a link to what stands, or might stand, at ``target``."""
        up = "../" * path.count("/")
        self._place(path).symlink_to(f"{up}{target}")

    def _place(self, path: str) -> Path:
        file = self._root / path
        if file.parent not in self._made:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(file.parent)
        return file
