"""A stamp: the ports above a function were seen to be as wanted, in this boot.

On the hook's path: a plain slotted class, and nothing imported but what the hook may.
"""


class Stamp:
    """What is remembered of one function.

    Attributes:
        address: The function's, as printed: stamps are found by it, and dropped when it is removed.
        location: Where it was.
        id: Its Vendor and Device ID.
        boot_id: Of the boot.
        verified_us: CLOCK_MONOTONIC when all ports above it were read as wanted, in microseconds.
        bound_before: Whether a VFIO driver had it already when that was so for the first time;
            None if that could not be told.
    """

    __slots__ = ("address", "boot_id", "bound_before", "id", "location", "verified_us")

    def __init__(  # noqa: PLR0913 -- a row of a table
        self,
        *,
        address: str,
        location: str,
        id: str,  # noqa: A002 -- as everywhere in the model
        boot_id: str,
        verified_us: int,
        bound_before: bool | None,
    ) -> None:
        self.address = address
        self.location = location
        self.id = id
        self.boot_id = boot_id
        self.verified_us = verified_us
        self.bound_before = bound_before

    def is_of(self, location: str, id: str, boot_id: str) -> bool:  # noqa: A002 -- as everywhere in the model
        """Return whether it is of this function in this boot."""
        return (self.location, self.id, self.boot_id) == (location, id, boot_id)
