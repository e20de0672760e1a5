"""Who else is at work on a host, as a recording keeps it."""

from typing import Self

import msgspec

from pcietune.address import PciAddress
from pcietune.model.owners import Owner, OwnerKind, Owners


class RecordedOwner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An Owner with addresses as text: no VM, namespace or other private name."""

    kind: OwnerKind
    where: str
    ids: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    says: str = ""


class RecordedOwners(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Owners, as found on the host."""

    found: tuple[RecordedOwner, ...] = ()
    not_known: tuple[str, ...] = ()

    @classmethod
    def of(cls, owners: Owners) -> Self:
        """Return what a recording keeps of them."""
        return cls(
            tuple(
                RecordedOwner(
                    owner.kind,
                    owner.where,
                    owner.ids,
                    tuple(map(str, owner.addresses)),
                    owner.says,
                )
                for owner in owners.found
            ),
            owners.not_known,
        )

    def decoded(self) -> Owners:
        """Return what was recorded.

        Raises:
            BadInputError: It has something else where an address should be.
        """
        return Owners(
            tuple(
                Owner(
                    owner.kind,
                    owner.where,
                    owner.ids,
                    tuple(map(PciAddress.parse, owner.addresses)),
                    owner.says,
                )
                for owner in self.found
            ),
            self.not_known,
        )
