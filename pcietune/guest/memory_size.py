"""An amount of memory as people type it, and as they are told it."""

import re

from pcietune.errors import BadInputError, quoted
from pcietune.guest.forms import MOST_MIB

_AMOUNT = re.compile(r"([0-9]{1,9})([mMgGtT])(?:i?[bB])?")
_MIB = {"m": 1, "g": 1 << 10, "t": 1 << 20}
_GIB = 1024  # MiB


def parse_memory(text: str) -> int:
    """Return an amount such as ``64G`` in MiB.

    A number alone is refused: QEMU takes it for MiB, and people mean GiB.

    Raises:
        BadInputError: It is no amount, none at all, or more than a CPU has addresses for.
    """
    found = _AMOUNT.fullmatch(text)
    mib = int(found[1]) * _MIB[found[2].lower()] if found else 0
    if not 1 <= mib <= MOST_MIB:
        bare = text.isascii() and text.isdigit() and int(text[:9]) > 0
        raise BadInputError(
            f"{quoted(text)}: no amount of memory{' without its unit' if bare else ''}",
            hint=f"{text}G or {text}M" if bare else "give it as 64G or 512M",
        )
    return mib


def memory_typed(mib: int) -> str:
    """Return an amount as ``parse_memory`` takes it."""
    return f"{mib // _GIB}G" if _is_in_gib(mib) else f"{mib}M"


def memory_told(mib: int) -> str:
    """Return an amount as people read it: ``64 GiB``."""
    return f"{mib // _GIB} GiB" if _is_in_gib(mib) else f"{mib} MiB"


def _is_in_gib(mib: int) -> bool:
    return mib > 0 and mib % _GIB == 0
