"""What was measured, what it may be at most, and the table of both."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured ratio.

    Attributes:
        what: What is compared with what.
        measured: The two quantities, in words.
        ratio: The first over the second.
        bound: The most that ``ratio`` may be; None if it is only told.
    """

    what: str
    measured: str
    ratio: float
    bound: float | None

    @property
    def holds(self) -> bool:
        """Whether the ratio is within its bound."""
        return self.bound is None or self.ratio <= self.bound

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The row of the table, as ``HEADING`` names its columns."""
        bound = "-" if self.bound is None else f"<= {self.bound:g}"
        verdict = "-" if self.bound is None else "ok" if self.holds else "NOT ok"
        return (self.what, self.measured, bound, f"{self.ratio:.3g}", verdict)


HEADING = ("what", "figure", "bound", "ratio", "verdict")


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as lines of aligned columns."""
    rows = [HEADING, *(figure.cells for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
