"""What a misspelt name may have been meant to be."""

from collections.abc import Sequence
from difflib import SequenceMatcher

_NEAR = 0.6  # of 1, as difflib.get_close_matches has it
_LONGEST = 60  # characters of a word that are compared


def hint(word: str, names: Sequence[str]) -> str:
    """Return which of ``names`` may be meant by ``word``, or all of them where none is near.

    All that begin with the word are near, else those that are most alike: SrcValid may be SrcValid+
    as well as SrcValid-.
    """
    start = word[:_LONGEST].lower()
    near = [name for name in names if start and name.lower().startswith(start)]
    if not near:
        likeness = {name: SequenceMatcher(None, start, name.lower()).ratio() for name in names}
        best = max(likeness.values(), default=0.0)
        near = [name for name in names if likeness[name] == best >= _NEAR]
    if not near:
        return f"valid: {', '.join(names)}"
    return f"did you mean {' or '.join(map(repr, near))}?"
