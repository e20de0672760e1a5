"""Mistakes in the links of a topology file's pci elements."""

from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.link import (
    FALLBACK_SPEED,
    FALLBACK_WIDTH,
    bandwidth,
    gigatransfers,
    known_speed,
    lane_value,
)
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.functions import is_bridge
from pcietune.guest.nccl.lint.node import Node, c_integer

_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
_SLOW = 8.0  # GT/s: below it no switch of a GPU server runs


def in_links(system: Node) -> Iterator[Found]:
    """Yield what is wrong with link speeds and widths."""
    for pci in system.below("pci"):
        speed, width = pci.get("link_speed"), pci.get("link_width")
        if is_bridge(pci) and (speed is None or width is None):
            yield Found(
                pci.offset,
                Severity.WARNING,
                "link-missing",
                "a switch without link_speed and link_width: an invented one counts as"
                f" {FALLBACK_SPEED} x{FALLBACK_WIDTH}, and an emulated one as what it says,"
                " 2.5 GT/s x1, which is 0.19 GB/s",
                'write those of the host\'s switch: link_speed="16.0 GT/s PCIe" link_width="16"',
            )
        if speed is not None:
            yield from _in_speed(pci, speed)
        if width is not None:
            yield from _in_width(pci, width)
        yield from _too_narrow(pci)


def _in_speed(pci: Node, text: str) -> Iterator[Found]:
    meant = gigatransfers(text)
    if lane_value(text) is None:
        right = meant is not None and known_speed(text) == FALLBACK_SPEED
        yield Found(
            pci.at("link_speed"),
            Severity.WARNING if right else Severity.ERROR,
            "link-speed",
            f"link_speed {quoted(text)}: NCCL knows no such text, and counts 8 GT/s",
            f'write link_speed="{known_speed(text) or "16.0 GT/s PCIe"}", as sysfs does',
        )
    elif meant is not None and meant < _SLOW and is_bridge(pci):
        yield Found(
            pci.at("link_speed"),
            Severity.WARNING,
            "link-slow",
            f"link_speed {quoted(text)} of a switch: as an emulated one says it, not a real one",
            'write that of the host\'s switch: link_speed="16.0 GT/s PCIe"',
        )


def _in_width(pci: Node, text: str) -> Iterator[Found]:
    width = c_integer(text)
    if width in _WIDTHS and text == str(width):
        return
    counted = width or FALLBACK_WIDTH
    yield Found(
        pci.at("link_width"),
        Severity.ERROR if width < 0 else Severity.WARNING,
        "link-width",
        f"link_width {quoted(text)}: NCCL counts {counted} lanes",
        'write how many lanes the link has: link_width="16"',
    )


def _too_narrow(pci: Node) -> Iterator[Found]:
    """Yield a switch whose link is slower than that of something below it."""
    if not is_bridge(pci) or (link := _bandwidth(pci)) is None:
        return
    for child in pci.children:
        below = _bandwidth(child) if child.name == "pci" else None
        if below is not None and below > link:
            yield Found(
                pci.at("link_speed"),
                Severity.WARNING,
                "link-narrow",
                f"a link of {link:g} GB/s above {quoted(child.get('busid') or '')}, whose own is"
                f" {below:g} GB/s, as NCCL counts them",
                "write the link of the host's switch, if it is not this",
            )
            return


def _bandwidth(pci: Node) -> float | None:
    """Return the GB/s that NCCL counts for a link; None if the file does not tell."""
    speed, width = pci.get("link_speed"), pci.get("link_width")
    return None if speed is None or width is None else bandwidth(speed, c_integer(width))
