"""What every loader's module has: the words that its files ask for, and changes of them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import IntendedWord, LoaderChange, LoaderName
from pcietune.tune.kernel_args.command_line import FOR_INIT, is_list, options_of
from pcietune.tune.kernel_args.merge import Merged

Merge = Callable[[Sequence[str], Sequence[str]], Merged]
"""Merges pcietune's words into others; takes those, and what of pcietune's was among them."""


class Loader(Protocol):
    """A boot loader, or what writes a command line for one."""

    name: LoaderName

    def intended(self, files: HostFiles) -> list[IntendedWord]:
        """Return the words that its files ask for; empty if the host has none of them.

        Raises:
            NotPermittedError: A file may not be read.
            BadInputError: A file makes no sense where it matters.
        """

    def insert(self, files: HostFiles, merge: Merge) -> LoaderChange:
        """Return what puts pcietune's words in place; errors as ``intended``.

        Raises:
            BadInputError: The host does not use it, or other words there would have to go.
        """

    def remove(self, files: HostFiles) -> LoaderChange:
        """Return what takes out what ``insert`` put there, and no more; errors as ``intended``."""


def added_to(sites: Sequence[IntendedWord], ours: Sequence[str], merge: Merge) -> tuple[str, ...]:
    """Return the words for a file of pcietune's own, beside files that are not.

    Raises:
        BadInputError: Words of other files would have to go, which pcietune does not touch; or
            one of them hands all that follows to init.
    """
    merged = merge([word.word for word in sites], ours)
    for_init = next((word.place for word in sites if word.word == FOR_INIT), None)
    if merged.added and for_init is not None:
        raise BadInputError(
            f"{for_init} has {FOR_INIT}, and what follows it is for init, not for the kernel",
            hint=f"write before it instead, quoted as it is: {' '.join(merged.added)}",
        )
    if merged.removed:
        places = {word.place: None for word in sites if word.word in merged.removed}
        new = [w for w in merged.words if any(map(is_list, options_of(w)))]
        raise BadInputError(
            f"{', '.join(places)} has {' '.join(merged.removed)}, and of two such words only the "
            "last one counts",
            hint=f"write there instead, quoted as it is: {' '.join(new)}",
        )
    return merged.added
