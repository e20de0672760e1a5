"""Variables that files of sh assign, as far as they do so in plain sight."""

import re
import shlex
from collections.abc import Iterator, Sequence

from pcietune.errors import BadInputError
from pcietune.model.boot_loader import IntendedWord
from pcietune.tune.kernel_args.command_line import LISTS, split

Values = dict[str, list[IntendedWord]]
"""By variable: the words of its value, quotes within it kept, each with where it was assigned."""

_ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)", re.DOTALL)
_KERNELS_OWN = "pci"  # a word of the kernel's, handed to some command
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def source(path: str, text: str, values: Values) -> None:
    """Take over what a file assigns, as the shell does that sources it.

    Raises:
        BadInputError: A line with words that matter is not understood.
    """
    for number, tokens in _commands(path, text):
        place = f"/{path}:{number}"
        for token in tokens:
            assigned = _ASSIGNMENT.fullmatch(token)
            if assigned is not None and assigned[1] != _KERNELS_OWN:
                name, adds, value = assigned.groups()
                _check_plain(value, place)
                before = values.get(name, []) if adds else []
                values[name] = _joined(before, _words(value, values, place), value)
            elif _matters(token):
                raise _not_understood(place, "no variable is assigned")


def _commands(path: str, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield each command's tokens, and the line on which it starts: quotes may span lines.

    Raises:
        BadInputError: One that matters does not end.
    """
    pending, start, why = "", 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not pending:
            start = number
            if line.lstrip().startswith("#"):
                continue
        if line.endswith("\\"):
            pending += line[:-1] or " "
            continue
        pending += line
        try:
            yield start, shlex.split(pending, comments=True)
            pending = ""
        except ValueError as error:
            pending, why = f"{pending}\n", str(error)
    if _matters(pending):
        raise _not_understood(f"/{path}:{start}", why or "nothing follows its last line")


def _words(value: str, values: Values, place: str) -> list[IntendedWord]:
    words: list[IntendedWord] = []
    for word in split(value):
        bare = word.replace('"', "").replace("'", "")
        variable = _VARIABLE.fullmatch(bare)
        if variable is not None:
            words += values.get(variable[1] or variable[2], [])
        elif not bare.startswith("$"):
            words.append(IntendedWord(word, place))
    return words


def _joined(
    before: list[IntendedWord], words: list[IntendedWord], value: str
) -> list[IntendedWord]:
    """Return a value with more behind it, which is one word where no space is between."""
    if not before or not words or value[0].isspace():
        return [*before, *words]
    glued = IntendedWord(before[-1].word + words[0].word, words[0].place)
    return [*before[:-1], glued, *words[1:]]


def _check_plain(value: str, place: str) -> None:
    """Refuse what the shell would work out, where it has a part in words that matter."""
    for word in split(value):
        if "$" in word and (_matters(word) or word.startswith("pci=")):
            raise _not_understood(place, f"{word} has a variable in it")


def _matters(text: str) -> bool:
    return any(name in text for name in LISTS)


def _not_understood(place: str, why: str) -> BadInputError:
    return BadInputError(f"{place} makes no sense: {why}", hint="write the words out, on one line")
