"""Which findings are asked for, where not all of them are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """What a command line asks for; empty means everything.

    Attributes:
        only: Shell patterns of the ids that are asked for; empty for all.
        skip: Shell patterns of ids that are not.
        devices: Functions, each by address or location: what is about them and the ports above
            them is asked for; empty for all.
    """

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


EVERYTHING = Selection()
