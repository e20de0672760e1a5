"""What is doubtful in a profile that is well formed, as far as no host is needed to tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pcietune.model.profile import AcsWant, ModeName, Place, PortRule, Profile, RolePlace
from pcietune.model.role_name import RoleName
from pcietune.registers.acs import AcsControl
from pcietune.tune.vfio_use import ISOLATION


@dataclass(frozen=True, slots=True)
class Remark:
    """One doubtful wish.

    Attributes:
        path: The keys that lead to it in the profile; the last ones may be left out there.
        text: What may come of it.
        causes: The keys of what else it follows from.
    """

    path: tuple[str, ...]
    text: str
    causes: tuple[tuple[str, ...], ...] = ()


def remarks(profile: Profile) -> Iterator[Remark]:
    """Yield what a reviewer of ``profile`` would ask about."""
    yield from _about_recognition(profile)
    for name in ModeName:
        if name not in profile.modes:
            yield Remark(("modes",), f"no mode '{name}': no host of this kind can be judged in it")
    for name, mode in profile.modes.items():
        path = ("modes", name, "ports")
        for place in Place:
            rule = mode.ports.get(place, PortRule())
            yield from _about_writes((*path, place), place, rule)
            if place is Place.NIC_SIDE and not profile.roles[RoleName.NIC].trusted:
                yield from _about_trust((*path, place), rule)
            if name is ModeName.VM:
                yield from _about_isolation((*path, place), place, rule)
        yield from _about_cascades(path, mode.ports)


def _about_recognition(profile: Profile) -> Iterator[Remark]:
    pattern = profile.match.pattern
    if not (profile.generic or pattern.ids or pattern.classes or profile.match.dmi):
        said = "every host with a GPU and a NIC below one switch matches; say 'generic: true'"
        yield Remark(("match",), said)
    if profile.roles[RoleName.NIC].place is RolePlace.ANY:
        said = "a NIC for storage often has the same ID; 'place: gpu-switch' leaves it out"
        yield Remark(("roles", "nic"), said)
    for name, role in profile.roles.items():
        if not role.pattern.classes and any("*" in pattern for pattern in role.pattern.ids):
            said = "ids with * fit audio and management functions, too; 'classes' leaves them out"
            yield Remark(("roles", name, "ids"), said)
    for name in (RoleName.NVSWITCH, RoleName.DPU):
        if name in profile.roles and profile.roles[name].trusted:
            said = f"a trusted '{name}' can reach its neighbours' memory unchecked"
            yield Remark(("roles", name, "trusted"), said)


def _about_writes(path: tuple[str, ...], place: Place, rule: PortRule) -> Iterator[Remark]:
    for want in rule.set:
        if want.control is AcsControl.DIRECT_TRANSLATED_P2P and want.on:
            if place is not Place.NIC_SIDE:
                said = f"{want} at {place} routes nothing from a NIC to a GPU and opens neighbours"
                yield Remark((*path, "set"), said)
        elif want.control in ISOLATION and not want.on:
            said = f"{want} belongs on the kernel command line: set later, IOMMU groups are wrong"
            yield Remark((*path, "set"), said)


def _about_trust(path: tuple[str, ...], rule: PortRule) -> Iterator[Remark]:
    """Find what is wanted for NICs, of which none is trusted with it."""
    direct = AcsWant(AcsControl.DIRECT_TRANSLATED_P2P, on=True)
    for key, wants in (("set", rule.set), ("require", rule.require)):
        if direct in wants:
            said = f"{direct} has no effect: role {RoleName.NIC} is not trusted"
            yield Remark((*path, key), said, causes=(("roles", "nic", "trusted"),))


def _about_isolation(path: tuple[str, ...], place: Place, rule: PortRule) -> Iterator[Remark]:
    held = {want.control for want in (*rule.set, *rule.require) if want.on}
    if missing := [str(AcsWant(control, on=True)) for control in ISOLATION if control not in held]:
        yield Remark(
            path, f"ports at {place} need not have {' '.join(missing)}: VMs may meet there"
        )


def _about_cascades(path: tuple[str, ...], ports: Mapping[Place, PortRule]) -> Iterator[Remark]:
    """Find what contradicts at a port that is at both places, as in a cascade of switches."""
    nic_side, gpu_side = (ports.get(p, PortRule()) for p in (Place.NIC_SIDE, Place.GPU_SIDE))
    others = {want.control: want for want in (*nic_side.set, *nic_side.require)}
    for want in (*gpu_side.set, *gpu_side.require):
        other = others.get(want.control, want)
        if other.on != want.on:
            said = f"{want} contradicts {other} of {Place.NIC_SIDE} where a port is at both places"
            causes = tuple((*path, Place.NIC_SIDE, key) for key in ("set", "require"))
            yield Remark((*path, Place.GPU_SIDE), said, causes)
