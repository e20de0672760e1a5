"""Link speeds and widths as NCCL reads and counts them.

Source: NCCL 2.30, src/graph/topo.cc (kvDictPciGen) and xml.h (kvConvertToInt): a text counts as
the first of these that it begins with, in units of 100 Mb/s per lane.
"""

import re

_LANE = {
    "2.5 GT/s": 15,
    "5 GT/s": 30,
    "8 GT/s": 60,
    "16 GT/s": 120,
    "32 GT/s": 240,
    "5.0 GT/s PCIe": 30,
    "8.0 GT/s PCIe": 60,
    "16.0 GT/s PCIe": 120,
    "32.0 GT/s PCIe": 240,
    "64.0 GT/s PCIe": 480,
}
_SURE = ("2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
         "64.0 GT/s PCIe")  # fmt: skip
_FALLBACK_LANE = 60
_SPEED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*GT/s")

FALLBACK_SPEED = "8.0 GT/s PCIe"
"""What a speed that NCCL does not know counts as."""

FALLBACK_WIDTH = 16
"""What a width of 0, and one that is missing, counts as."""


def lane_value(text: str) -> int | None:
    """Return what NCCL counts for one lane, in 100 Mb/s; None for a text that it does not know."""
    return next((value for known, value in _LANE.items() if text.startswith(known)), None)


def gigatransfers(text: str | None) -> float | None:
    """Return the GT/s that a text means to a person; None if it tells none."""
    found = _SPEED.match(text or "")
    return None if found is None else float(found[1])


def known_speed(text: str | None) -> str | None:
    """Return a speed as the kernel spells it, which NCCL knows; None if it is none.

    A speed that no NCCL knows yet becomes the highest below it that it knows.
    """
    wanted = gigatransfers(text)
    if wanted is None:
        return None
    return next((sure for sure in reversed(_SURE) if (gigatransfers(sure) or 0) <= wanted), None)


def bandwidth(speed: str, width: int) -> float:
    """Return the GB/s that NCCL counts for a link."""
    lane = lane_value(speed)
    return (width or FALLBACK_WIDTH) * (_FALLBACK_LANE if lane is None else lane) / 80
