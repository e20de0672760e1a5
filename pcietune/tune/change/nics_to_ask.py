"""Which NICs' firmware may be asked, and whether that is allowed here at all."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError, quoted
from pcietune.model.access import HostAccess
from pcietune.model.card import Card, cards
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Subject
from pcietune.model.platform import Lockdown
from pcietune.model.protection import Protection
from pcietune.model.role_name import RoleName


def check_may_ask(host: HostAccess) -> None:
    """Do nothing if a program may speak with the NICs, which it does by writing to them.

    Raises:
        BadInputError: This is a recording.
        NotPermittedError: Not root, or the kernel is locked down.
    """
    if host.recorded:
        raise BadInputError(
            "a recorded host has no NIC to ask", hint="run pcietune firmware on the host itself"
        )
    if not host.privileged:
        raise NotPermittedError("the NICs may not be asked: not root", hint="run pcietune as root")
    lockdown = host.platform().lockdown
    if lockdown not in (Lockdown.NONE, Lockdown.UNKNOWN):
        raise NotPermittedError(
            f"the NICs may not be asked: the kernel is locked down ({lockdown.value}), which "
            "forbids the configuration writes that this takes",
            hint="set it in the UEFI setup's page of the NIC, or in one boot without lockdown",
        )


def nics_to_ask(
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    protection: Protection,
    devices: Sequence[str],
) -> tuple[Card, ...]:
    """Return the profile's NICs card by card, without what is never touched.

    Args:
        fabric: The host's functions.
        roles: Which of them are NICs; VFs have no role.
        protection: What is never touched.
        devices: Addresses or locations of those that are meant; none means all.

    Raises:
        BadInputError: One of those is no NIC of the profile, or is never touched.
    """
    nics = [
        fabric.functions[address]
        for address, role in roles.items()
        if role is RoleName.NIC and not protection.covers(address)
    ]
    meant = set()
    for name in devices:
        named = [nic.address for nic in nics if Subject.of(nic).is_named(name)]
        if not named:
            raise BadInputError(
                f"{quoted(name)} is no NIC of the profile, or is never touched",
                hint=f"the NICs are {', '.join(str(nic.address) for nic in nics) or 'none'}",
            )
        meant.update(named)
    found = cards(fabric, nics)
    if not devices:
        return found
    return tuple(card for card in found if any(nic.address in meant for nic in card))
