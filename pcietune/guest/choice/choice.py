"""What a VM was chosen to get."""

from dataclasses import dataclass

from pcietune.guest.chosen import Chosen
from pcietune.guest.nvswitch.partition import Partition
from pcietune.guest.stock.offer import Offer


@dataclass(frozen=True, slots=True)
class Choice:
    """What a VM gets, and why.

    Attributes:
        gpus: In the order of locations.
        nics: NICs and VFs, those near to the first GPUs first.
        nvswitches: Those that it gets with them.
        partition: That of the NVSwitches that holds just its GPUs; None if none does, or it is
            not known.
        reasons: Why these, in sentences.
        warnings: What is not as it should be, or not known, in sentences.
    """

    gpus: tuple[Offer, ...]
    nics: tuple[Offer, ...]
    nvswitches: tuple[Offer, ...]
    partition: Partition | None
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def offers(self) -> tuple[Offer, ...]:
        """All of it."""
        return (*self.gpus, *self.nics, *self.nvswitches)

    @property
    def chosen(self) -> tuple[Chosen, ...]:
        """All of it, for the layout."""
        return tuple(offer.chosen for offer in self.offers)
