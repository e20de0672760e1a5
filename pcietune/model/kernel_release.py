"""A kernel's release, as ``uname -r`` prints it, and how much it tells of what is in the kernel."""

import re
from dataclasses import dataclass

_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(.*)")
_CANDIDATE = re.compile(r"-rc\d+")


@dataclass(frozen=True, slots=True)
class KernelRelease:
    """Which kernel.org release a kernel is built from, as far as its name says.

    Attributes:
        series: Version and patch level: ``(6, 12)``.
        stable: Number of the stable release within the series; None where the third number is a
            distribution's own (``6.8.0-45-generic``, ``5.14.0-427.el9``), which says nothing.
        changed: Whether the name has a suffix, so that patches may be in it that the number does
            not say.
    """

    series: tuple[int, int]
    stable: int | None
    changed: bool

    @classmethod
    def parse(cls, text: str | None) -> "KernelRelease | None":
        """Return what ``text`` says; None if that is no release, or not known at all."""
        match = _RELEASE.match(text or "")
        if match is None:
            return None
        major, minor, third, suffix = match.groups()
        candidate = _CANDIDATE.match(suffix) is not None
        changed = bool(suffix) and not candidate
        number = int(third or 0)
        known = number > 0 or not changed
        return cls((int(major), int(minor)), number if known else None, changed)

    def is_before(self, version: tuple[int, int]) -> bool:
        """Return whether it is built from a series before ``version``."""
        return self.series < version
