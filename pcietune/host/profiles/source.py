"""Where a profile came from."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pcietune.model.profile import Profile


class Origin(StrEnum):
    """Who wrote a profile."""

    SHIPPED = "shipped"
    SITE = "site"
    FILE = "file"  # named on the command line


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """One profile's file, not yet read.

    Attributes:
        name: What the profile is called: the file's name without the suffix.
        origin: Who wrote it.
        file: Its path; of one that the user named, in their words.
        replaces_shipped: Whether a site's file stands in for a shipped one of that name.
    """

    name: str
    origin: Origin
    file: str
    replaces_shipped: bool = False

    @classmethod
    def of_file(cls, file: str) -> "ProfileSource":
        """Return the source that a user named by its path."""
        return cls(Path(file).stem, Origin.FILE, file)

    @property
    def path(self) -> Path:
        """The file's path."""
        return Path(self.file)


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile, and where it came from.

    Attributes:
        profile: The profile.
        source: Its file.
        parents: The files of the profiles that it extends, nearest first.
    """

    profile: Profile
    source: ProfileSource
    parents: tuple[ProfileSource, ...] = ()
