"""What makes the kernel command line, what its files ask for, and what is to be changed there."""

from dataclasses import dataclass
from enum import StrEnum


class LoaderName(StrEnum):
    """What hands the command line to the kernel, or what writes it for that."""

    GRUB = "grub"
    GRUBBY = "grubby"
    SYSTEMD_BOOT = "systemd-boot"
    CMDLINE_D = "cmdline.d"


@dataclass(frozen=True, slots=True)
class IntendedWord:
    """A word that a file asks for; comments ask for nothing.

    Attributes:
        word: Without quotes.
        place: Where it stands: ``/etc/default/grub:6``.
    """

    word: str
    place: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is to hold something else.

    Attributes:
        path: Below the host's root: ``etc/kernel/cmdline``.
        before: Its text; None if there is none.
        after: Its text then; None if it is removed.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class LoaderChange:
    """What puts pcietune's words in place, or takes them out.

    Attributes:
        loader: Where.
        files: Files that change.
        note: What pcietune remembers of it: made first, but removed last.
        commands: Programs that are run, each an argument list.
        then: What must run after it, in order: pcietune does not.
    """

    loader: LoaderName
    files: tuple[FileChange, ...] = ()
    note: FileChange | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    then: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all is as it is to be."""
        return not self.files and not self.commands
