"""How many NICs go with GPUs, and in which form: whole, or a VF of one that is shared."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """The share of some GPUs below a switch in the NICs below it.

    Attributes:
        whole: NICs that no other VM needs.
        shared: NICs of which others need a part, too: 0 or 1.
    """

    whole: int
    shared: int

    @property
    def nics(self) -> int:
        """How many NICs the VM has a part of."""
        return self.whole + self.shared


def share_of(gpus: int, of_gpus: int, nics: int) -> Share:
    """Return the share of ``gpus`` of a switch's ``of_gpus`` in its NICs.

    Where there are at least as many NICs as GPUs no NIC is shared, and what does not divide stays.
    Where there are fewer, the part of a NIC that is left over is a VF of it.
    """
    whole, rest = divmod(gpus * nics, of_gpus)
    return Share(whole, 1 if rest and nics < of_gpus else 0)
