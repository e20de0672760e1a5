"""What each port of a switch group owes in a mode."""

from dataclasses import dataclass, replace

from pcietune.errors import BadInputError
from pcietune.model.profile import AcsWant, Mode, ModeName, Place
from pcietune.model.switch_group import PlacedPort, SwitchGroup
from pcietune.registers.acs import AcsControl


@dataclass(frozen=True, slots=True)
class PortRequirement:
    """One ACS control of one port, on or off.

    Attributes:
        group: The switch group that the port belongs to.
        placed: The port and its places.
        place: The first of its places that wants this.
        want: The control, on or off.
        writable: Whether pcietune may write it.
        mode: The duty that wants it.
        trusted: Whether it may be had: Direct Translated P2P is for the NICs that are trusted
            with it, and without one it is not asked of the port.
    """

    group: SwitchGroup
    placed: PlacedPort
    place: Place
    want: AcsWant
    writable: bool
    mode: ModeName
    trusted: bool = True


def port_requirements(group: SwitchGroup, name: ModeName, mode: Mode) -> list[PortRequirement]:
    """Return what the group's ports owe: the union of their places, each control once.

    Raises:
        BadInputError: Two places of one port want opposite things: the profile contradicts itself.
    """
    return [owed for placed in group.ports for owed in _owed_by(group, placed, name, mode)]


def _owed_by(
    group: SwitchGroup, placed: PlacedPort, name: ModeName, mode: Mode
) -> list[PortRequirement]:
    owed: dict[AcsControl, PortRequirement] = {}
    for place in placed.places:
        rule = mode.ports.get(place)
        if rule is None:
            continue
        wants = [(want, True) for want in rule.set] + [(want, False) for want in rule.require]
        for want, writable in wants:
            if want.control is AcsControl.TRANSLATION_BLOCKING and not placed.above_nic:
                continue  # it stops what NICs send, so it matters above a NIC only
            trusted = _is_trusted(placed, place, want)
            known = owed.setdefault(
                want.control,
                PortRequirement(group, placed, place, want, writable, name, trusted),
            )
            if known.want != want:
                raise BadInputError(
                    f"{placed.port.address} is both {known.place} and {place}, and the profile "
                    f"wants {known.want} and {want} there",
                    hint="make the two places of the profile agree",
                )
            if writable and not known.writable:
                owed[want.control] = replace(known, writable=True)
    return list(owed.values())


def _is_trusted(placed: PlacedPort, place: Place, want: AcsWant) -> bool:
    opens = want.control is AcsControl.DIRECT_TRANSLATED_P2P and want.on
    return not (opens and place is Place.NIC_SIDE) or bool(placed.opens_for)
