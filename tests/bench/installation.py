"""pcietune as ``make install`` lays it out, made once in a run."""

import functools
import tempfile
from pathlib import Path

from bench.cache import command

_CHECKOUT = Path(__file__).parents[2]


class Installation:
    """A folder that stands for the guest's root, and lasts as long as the object."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-installed-")
        self.root = Path(self._folder.name)
        command("make", "--silent", "-C", _CHECKOUT, "install", f"DESTDIR={self.root}")

    def packages(self) -> list[Path]:
        """Return the folder of the Python packages, of each version of Python that has one."""
        return sorted((self.root / "usr/lib/pcietune").glob("python*"))

    def units(self) -> dict[str, str]:
        """Return the text of the unit files, by path in the guest."""
        files = (self.root / "usr/lib/systemd/system").iterdir()
        return {
            f"/{file.relative_to(self.root)}": file.read_text() for file in files if file.is_file()
        }


@functools.cache
def installed() -> Installation:
    """Install into a folder.

    Raises:
        CacheError: ``make install`` failed.
    """
    return Installation()
