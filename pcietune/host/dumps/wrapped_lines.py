"""Mends lines that a mail program broke at the width of its window."""

from collections.abc import Callable, Iterable, Iterator

from pcietune.host.dumps.text_lines import Line, has_offset

_NARROWEST = 64  # columns; mail is wrapped at 72 to 78, and later quoted by ``> > ``


def is_wrapped(before: str, line: str) -> bool:
    """Return whether a line can be what had no room on the one before it.

    Only a break at a blank is mended, and only where the next word would have been too much.
    """
    word = line.split(maxsplit=1)[0]
    return bool(before) and len(before.expandtabs()) + 1 + len(word) > _NARROWEST


def unwrapped(lines: Iterable[Line], begins: Callable[[str], bool]) -> Iterator[Line]:
    """Yield lines as they were before they were wrapped, each by the number of its first part.

    Args:
        lines: As they were mailed.
        begins: Whether a line, neither empty nor indented, begins one of its own. What does not,
            and may be wrapped, goes on the line before it.
    """
    before: Line | None = None
    for line in lines:
        if before is not None:
            if _may_go_on(before[1], line[1]) and not begins(line[1]):
                before = (before[0], f"{before[1]} {line[1]}")
                continue
            yield before
            before = None
        if has_offset(line[1]):  # a row of bytes is whole, or damaged
            yield line
        else:
            before = line
    if before is not None:
        yield before


def _may_go_on(before: str, line: str) -> bool:
    """Return whether a line can be the rest of one."""
    return bool(line) and not line[0].isspace() and is_wrapped(before, line)
