"""What GRUB's own script makes of words: it has the quotes of sh, and ends a command at a ``;``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.model.boot_loader import IntendedWord

_PARTS = re.compile(
    r""""(?P<double>[^"]*)"?|'(?P<single>[^']*)'?|\\(?P<escaped>.)|(?P<end>;)|.""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class GrubCommand:
    """The words of one ``linux`` command.

    Attributes:
        words: Those that come to the kernel, without quotes.
        ended_by: The word whose ``;`` ends the command, so that all behind it is lost; None if
            nothing is.
    """

    words: list[IntendedWord]
    ended_by: IntendedWord | None


def grub_command(words: Sequence[IntendedWord]) -> GrubCommand:
    """Return what GRUB makes of words that have their quotes."""
    found: list[IntendedWord] = []
    for word in words:
        bare, ends = _read(word.word)
        if bare:
            found.append(IntendedWord(bare, word.place))
        if ends:
            return GrubCommand(found, word)
    return GrubCommand(found, None)


def _read(word: str) -> tuple[str, bool]:
    """Return a word without quotes, as far as GRUB takes it, and whether a ``;`` ends it."""
    bare = ""
    for part in _PARTS.finditer(word):
        if part["end"]:
            return bare, True
        group = part.lastgroup
        bare += part[group] if group else part[0]
    return bare, False
