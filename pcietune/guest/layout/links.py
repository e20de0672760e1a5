"""What a link is, for the plan and for QEMU's ports."""

from pcietune.model.function import LinkState

# QEMU 7.2's values of a root port's x-speed, by GT/s; faster links are shown as the fastest.
_SPEEDS = {2.5: "2_5", 5.0: "5", 8.0: "8", 16.0: "16"}
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # of its x-width


def most_of(link: LinkState | None, port: LinkState | None) -> tuple[str | None, int | None]:
    """Return the most that a function and the port above it can: speed as sysfs has it, and lanes.

    What runs now says little: an idle GPU runs its link at 2.5 GT/s. None where neither is known.
    """
    ends = [end for end in (link, port) if end is not None]
    speeds = [end.max_speed for end in ends if end.max_speed is not None]
    widths = [end.max_width for end in ends if end.max_width]
    return min(speeds, key=gigatransfers, default=None), min(widths, default=None)


def running(link: LinkState | None) -> tuple[str | None, int | None]:
    """Return what a port that never idles runs at; where that is not known, the most it can."""
    if link is None:
        return None, None
    return link.speed or link.max_speed, link.width or link.max_width


def port_properties(speed: str | None, width: int | None) -> tuple[str | None, int | None]:
    """Return a link as QEMU's ``x-speed`` and ``x-width`` take it; None for QEMU's own."""
    shown = None
    if speed is not None:
        shown = _SPEEDS[
            max((each for each in _SPEEDS if each <= gigatransfers(speed)), default=2.5)
        ]
    lanes = None if width is None else max((each for each in _WIDTHS if each <= width), default=1)
    return shown, lanes


def gigatransfers(speed: str) -> float:
    """Return a speed in GT/s, from sysfs's ``16.0 GT/s PCIe``.

    Raises:
        ValueError: It is no speed.
    """
    return float(speed.partition(" ")[0])
