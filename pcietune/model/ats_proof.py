"""That the kernel was seen to enable a function's ATS, in this boot."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtsProof:
    """A function whose ATS Enable the kernel set when its group's domain came to translate.

    Attributes:
        location: Of the function, which survives a renumbering of the buses.
        id: Vendor and Device ID: ``15b3:101b``.
    """

    location: str
    id: str
