"""Which profiles fit a host, and why the others do not."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pcietune.tune.match.choose import MatchResult, why_not_chosen


class MatchedProfile(msgspec.Struct, frozen=True):
    """How one profile fits.

    Attributes:
        name: Of the profile.
        origin: ``shipped`` or ``site``.
        fits: Whether all of its criteria hold.
        chosen: Whether the host is judged by it.
        why: The criteria that hold, or if any does not, those that do not.
        why_not_chosen: Of one that fits, why another was chosen or none; None if it was.
    """

    name: str
    origin: str
    fits: bool
    chosen: bool
    why: tuple[str, ...]
    why_not_chosen: str | None


class Matches(msgspec.Struct, frozen=True):
    """All profiles of a host.

    Attributes:
        schema: Version of this document.
        chosen: Name of the profile that describes the host; None if none does, or two do.
        nothing_here: Whether there is no GPU, so that none is needed.
        profiles: In the order of names.
    """

    schema: int
    chosen: str | None
    nothing_here: bool
    profiles: tuple[MatchedProfile, ...]


def matches(
    results: Sequence[MatchResult],
    chosen: MatchResult | None,
    origins: Mapping[str, str],
    *,
    undecided: bool,
) -> Matches:
    """Return the document.

    Args:
        results: Of every profile.
        chosen: The one of them that describes the host.
        origins: Who wrote each profile, by its name.
        undecided: Whether none is chosen though there are GPUs.
    """
    return Matches(
        schema=1,
        chosen=None if chosen is None else chosen.profile.name,
        nothing_here=chosen is None and not undecided,
        profiles=tuple(
            MatchedProfile(
                name=result.profile.name,
                origin=origins[result.profile.name],
                fits=result.fits,
                chosen=result is chosen,
                why=result.why,
                why_not_chosen=_excuse(result, results, chosen),
            )
            for result in results
        ),
    )


def lines(document: Matches) -> Iterator[str]:
    """Yield a line for each profile, then which is chosen."""
    for profile in document.profiles:
        fits = "fits" if profile.fits else "does not fit"
        excuse = f"; not chosen: {profile.why_not_chosen}" if profile.why_not_chosen else ""
        yield f"{fits}  {profile.name}: {'; '.join(profile.why)}{excuse}"
    if document.chosen is not None:
        yield f"chosen  {document.chosen}"
    if document.nothing_here:
        yield "There is no GPU on this host: nothing here for pcietune."


def _excuse(
    result: MatchResult, results: Sequence[MatchResult], chosen: MatchResult | None
) -> str | None:
    if result is chosen or not result.fits:
        return None
    return why_not_chosen(result, results) or "no GPU is here"
