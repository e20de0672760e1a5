"""What a source does not tell: a fact that is neither there nor absent."""

from enum import Enum
from typing import Final


class NotKnown(Enum):
    """The type of NOT_KNOWN, for facts of which None says already that there is none."""

    NOT_KNOWN = "not known"


NOT_KNOWN: Final = NotKnown.NOT_KNOWN
"""In place of a driver or an IOMMU group that an lspci dump does not tell."""
