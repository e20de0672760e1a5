"""Which findings are asked for, where not all of them are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """What a command asks for; empty means everything.

    Attributes:
        only: Shell patterns of the ids that are asked for; empty for all.
        skip: Shell patterns of ids that are not.
        devices: Functions, each by address or location: what is about them and the ports above
            them is asked for; empty for all.
        groups: Names of the switch groups that are looked at: of others nothing is read, and
            nothing judged; None for all.
    """

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    groups: frozenset[str] | None = None

    def looks_at(self, group: str) -> bool:
        """Return whether the switch group of this name is looked at."""
        return self.groups is None or group in self.groups


EVERYTHING = Selection()
