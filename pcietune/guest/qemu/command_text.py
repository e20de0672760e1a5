"""QEMU's arguments as a command for a shell."""

import shlex
from collections.abc import Iterator, Sequence


def command_lines(program: str, arguments: Sequence[str]) -> list[str]:
    """Return a command that a shell takes as it is, an option with its value in each line."""
    lines = [shlex.quote(program), *(f"    {each}" for each in _options(arguments))]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _options(arguments: Sequence[str]) -> Iterator[str]:
    option: list[str] = []
    for argument in arguments:
        if argument.startswith("-") and option:
            yield shlex.join(option)
            option = []
        option.append(argument)
    if option:
        yield shlex.join(option)
