"""The door to a host's drivers, as a Protocol: who has a function, and who shall."""

from collections.abc import Sequence
from typing import Protocol

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown


class DriverAccess(Protocol):
    """The drivers of a host. Nothing is remembered: each answer is how it is now."""

    def driver(self, function: PciFunction) -> str | NotKnown | None:
        """Return the name of the bound driver; None if there is none, NOT_KNOWN of a dump."""

    def in_slot(self, function: PciFunction) -> Sequence[PciAddress]:
        """Return the functions that share a function's slot, itself included, in order."""

    def knows(self, driver: str) -> bool:
        """Return whether the kernel knows a driver now."""

    def load(self, driver: str) -> None:
        """Have the kernel know a driver.

        Raises:
            NotPermittedError: It cannot be loaded.
        """

    def unbind(self, function: PciFunction) -> None:
        """Take a function from the driver that has it.

        Raises:
            ConfigSpaceError: The function vanished, or no driver has it.
            NotPermittedError: Not root.
            InUseError: The kernel is busy with it.
        """

    def probe(self, function: PciFunction) -> None:
        """Have the kernel look for a driver of a function that has none.

        Raises:
            ConfigSpaceError: The function vanished, or the driver failed.
            NotPermittedError: Not root.
            InUseError: The kernel is busy with it.
        """
