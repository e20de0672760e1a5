"""Which profile describes a host, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pcietune.errors import NoProfileError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.profile import Profile
from pcietune.model.switch_group import switch_groups
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.match.survey import is_gpu

_FITS_NONE = (
    "where no switch carries both a GPU and a NIC, ACS of switches decides nothing: look at the "
    "IOMMU's mode and at host bridges between peers; else write a profile (pcietune profile match "
    "says of each why it does not fit)"
)
_ADD_IDS = "the text tells no Device IDs, which profiles go by: add -nn, as in lspci -D -nnvvv"


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How one profile fits a host.

    Attributes:
        profile: The profile.
        why: One sentence per criterion: those that hold, or if any does not, those that do not.
        fits: Whether all hold.
    """

    profile: Profile
    why: tuple[str, ...]
    fits: bool

    @property
    def rank(self) -> tuple[bool, bool, bool, bool]:
        """How specific it is; generic ones come last.

        Exact ids and DMI over exact ids over DMI over ids with ``*`` over class and place: what a
        host carries says more of it than what its board is called, and the two together most.
        """
        match = self.profile.match
        exact = any("*" not in pattern for pattern in match.pattern.ids)
        return (not self.profile.generic, exact, bool(match.dmi), bool(match.pattern.ids))

    @property
    def criteria(self) -> str:
        """What it is recognised by, as far as that decides its rank."""
        _, exact, dmi, ids = self.rank
        words = ("exact ids" if exact else "ids with *" if ids else "", "DMI" if dmi else "")
        return " and ".join(filter(None, words)) or "class or place"


def match_profile(profile: Profile, fabric: Fabric, host: HostAccess) -> MatchResult:
    """Return whether ``profile`` fits the host, and why or why not."""
    match = profile.match
    holds: list[str] = []
    fails: list[str] = []
    if match.pattern.ids or match.pattern.classes:
        here = [f for f in fabric.functions.values() if match.pattern.matches(f)]
        ids = ", ".join(match.pattern.ids)
        classes = ", ".join(f"class {code:04x}" for code in match.pattern.classes)
        wanted = " ".join(filter(None, (ids, classes)))
        if here:
            holds.append(f"{len(here)} x {', '.join(sorted({f.id for f in here}))} ({wanted})")
        else:
            fails.append(f"no function {wanted}")
    if match.switch_group:
        groups = switch_groups(fabric, assign_roles(profile, fabric, host), profile)
        if groups:
            carry = "1 switch carries" if len(groups) == 1 else f"{len(groups)} switches carry"
            holds.append(f"{carry} a GPU and a NIC")
        else:
            fails.append("no switch carries both a GPU and a NIC by its roles")
    dmi = host.platform().dmi
    for name, pattern in match.dmi.items():
        value = dmi.get(name)
        if value is not None and fnmatchcase(value, pattern):
            holds.append(f"DMI {name} is {value!r}")
        else:
            fails.append(f"DMI {name} is {value!r}, not {pattern!r}")
    return MatchResult(profile, tuple(fails or holds), fits=not fails)


def find_profile(
    host: HostAccess, fabric: Fabric, profiles: Sequence[Profile]
) -> MatchResult | None:
    """Return the profile that describes the host; None if it has no GPU at all.

    Raises:
        NoProfileError: GPUs, but none fits, or two are equally specific.
    """
    return choose(fabric, [match_profile(profile, fabric, host) for profile in profiles])


def insist(host: HostAccess, fabric: Fabric, profile: Profile) -> MatchResult:
    """Return how the one profile that the user named fits.

    Raises:
        NoProfileError: It describes another kind of host.
    """
    result = match_profile(profile, fabric, host)
    if not result.fits:
        raise NoProfileError(
            f"profile {profile.name} does not describe this host: {'; '.join(result.why)}",
            hint="pcietune profile match says which one does",
        )
    return result


def choose(fabric: Fabric, results: Sequence[MatchResult]) -> MatchResult | None:
    """Return the most specific profile that fits; None if the host has no GPU at all.

    Raises:
        NoProfileError: GPUs, but none fits, or two are equally specific.
    """
    found = [function for function in fabric.functions.values() if is_gpu(function)]
    gpus = sorted({function.id for function in found})
    if not gpus:
        return None
    fitting = sorted((r for r in results if r.fits), key=lambda r: r.rank, reverse=True)
    if not fitting:
        told = [r for r in results if r.profile.generic] or results  # the others are of other GPUs
        whys = "; ".join(f"{r.profile.name}: {', '.join(r.why)}" for r in told)
        raise NoProfileError(
            f"no profile matches this host's GPUs, {', '.join(gpus)} ({whys})",
            hint=_FITS_NONE if all(gpu.is_id_told for gpu in found) else _ADD_IDS,
        )
    best = [result for result in fitting if result.rank == fitting[0].rank]
    if len(best) > 1:
        names = " and ".join(result.profile.name for result in best)
        whys = "; ".join(f"{result.profile.name}: {', '.join(result.why)}" for result in best)
        raise NoProfileError(
            f"the profiles {names} match this host equally well ({whys})",
            hint="name one with --profile, or in /etc/pcietune/pcietune.yaml",
        )
    return best[0]


def why_not_chosen(result: MatchResult, results: Sequence[MatchResult]) -> str:
    """Return why a profile that fits is not the one of several that fit; "" if it is.

    Args:
        result: The one that fits.
        results: It and all others, whether they fit or not.
    """
    others = [r for r in results if r.fits and r is not result and r.rank >= result.rank]
    if not others:
        return ""
    other = max(others, key=lambda r: r.rank)
    name = other.profile.name
    if other.rank == result.rank:
        return f"fits no better than {name}"
    if result.profile.generic and not other.profile.generic:
        return f"generic, which counts only where no other fits, and {name} does"
    return f"less specific than {name}: by {result.criteria}, not by {other.criteria}"
