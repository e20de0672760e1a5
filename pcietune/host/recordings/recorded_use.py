"""What a host used its own functions for, as a recording keeps it."""

from typing import Self

import msgspec

from pcietune.address import PciAddress
from pcietune.model.protection import HostUse


class RecordedUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A HostUse with addresses as text: no MAC or IP address, and no name of a private place."""

    interfaces: dict[str, tuple[str, ...]] = {}
    slots: dict[str, str] = {}
    disks: dict[str, tuple[str, ...]] = {}
    default_routes: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()

    @classmethod
    def of(cls, use: HostUse) -> Self:
        """Return what a recording keeps of it."""
        return cls(
            interfaces={name: tuple(map(str, found)) for name, found in use.interfaces.items()},
            slots=dict(use.slots),
            disks={str(address): places for address, places in use.disks.items()},
            default_routes=use.default_routes,
            not_known=use.not_known,
        )

    def decoded(self) -> HostUse:
        """Return what was recorded.

        Raises:
            BadInputError: It has something else where an address should be.
        """
        return HostUse(
            interfaces={
                name: tuple(map(PciAddress.parse, found)) for name, found in self.interfaces.items()
            },
            slots=self.slots,
            disks={PciAddress.parse(text): places for text, places in self.disks.items()},
            default_routes=self.default_routes,
            not_known=self.not_known,
        )
