"""Lists of numbers as the kernel prints them: of CPUs, of NUMA nodes."""

import re

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def parse_list(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a list such as ``0-3,8``, in its order; None if it is none.

    An empty text is an empty list: a node of memory only has no CPU (lib/vsprintf.c, ``%*pbl``).
    """
    ranges = [_RANGE.fullmatch(part) for part in text.split(",")] if text else []
    spans = [(int(each[1]), int(each[2] or each[1])) for each in ranges if each]
    if len(spans) != len(ranges):
        return None
    return tuple(number for first, last in spans for number in range(first, last + 1))
