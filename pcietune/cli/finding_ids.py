"""Ids of findings as they are typed: whole, or as shell patterns."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from pcietune.errors import BadInputError, quoted


def chosen(patterns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the known ids that a pattern stands for, in their order.

    Raises:
        BadInputError: A pattern stands for none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(each, pattern) for each in known):
            near = get_close_matches(pattern, known)
            raise BadInputError(
                f"there is no finding {quoted(pattern)}",
                hint=f"did you mean {' or '.join(near)}?" if near else "pcietune explain lists all",
            )
    return [each for each in known if any(fnmatchcase(each, pattern) for pattern in patterns)]
