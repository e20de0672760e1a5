"""What the kernel was seen to do about functions' ATS, in this boot."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtsProof:
    """A function whose group's domain came to translate for a moment.

    Attributes:
        location: Of the function, which survives a renumbering of the buses.
        id: Vendor and Device ID: ``15b3:101b``.
    """

    location: str
    id: str


@dataclass(frozen=True, slots=True)
class AtsTrials:
    """How that went; what was tried last counts.

    Attributes:
        proofs: Functions whose ATS Enable the kernel then set.
        disproofs: Functions whose ATS Enable stayed off.
    """

    proofs: frozenset[AtsProof] = frozenset()
    disproofs: frozenset[AtsProof] = frozenset()

    def then(self, later: "AtsTrials") -> "AtsTrials":
        """Return these trials with later ones, which replace those of the same functions."""
        return AtsTrials(
            self.proofs - later.disproofs | later.proofs,
            self.disproofs - later.proofs | later.disproofs,
        )


NO_TRIALS = AtsTrials()
