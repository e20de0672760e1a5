"""Whether all functions are apart, in one line, and which of them no IOMMU keeps from memory."""

from collections.abc import Iterator

from pcietune.tune.paths.isolation import Isolation
from pcietune.tune.paths.untranslated import Keeping

_TOLD = {
    Keeping.NOTHING: "NOT APART  no IOMMU translates these: they reach all memory and all others",
    Keeping.IDENTITY: "note  the host's own, by identity domains: these reach all memory by design",
    Keeping.NOT_KNOWN: "note  whether an IOMMU translates what these send is not known",
}
_NO_PORT = "no port lets requests of any reach another past the root complex"


def untranslated_lines(view: Isolation) -> Iterator[str]:
    """Yield what no IOMMU keeps from memory, where that is not so of the whole host."""
    for keeping, told in _TOLD.items():
        those = [address for address, found in view.keeping.items() if found is keeping]
        if those and view.iommu:
            yield told
            yield from (f"    {address}" for address in sorted(those))


def untranslated(view: Isolation) -> dict[str, list[str]]:
    """Return the addresses of what no IOMMU is known to translate, by what keeps it from that."""
    found: dict[str, list[str]] = {}
    for address, keeping in sorted(view.keeping.items()):
        if keeping is not Keeping.KEPT:
            found.setdefault(keeping, []).append(str(address))
    return found


def summary_line(view: Isolation) -> str:
    """Return whether all that was looked at is apart; what is not known is never taken for it."""
    if not view.owners:
        return "0 functions looked at: nothing is said of how far any are apart"
    count = f"{len(view.owners)} function{'' if len(view.owners) == 1 else 's'} looked at"
    keeping = set(view.keeping.values())
    if view.reaches or view.iommu is False or Keeping.NOTHING in keeping:
        return f"{count}: not all of them are apart"
    if view.not_known or view.problems:
        return f"{count}: whether all of them are apart is not known"
    if view.iommu is None or Keeping.NOT_KNOWN in keeping:
        return (
            f"{count}: {_NO_PORT}, but whether an IOMMU translates there, and so whether all of "
            "them are apart, is not known"
        )
    if Keeping.IDENTITY in keeping:
        return f"{count}: {_NO_PORT}, which lets those with identity domains reach all of memory"
    lie = ", unless it lies" if view.lies else ""
    return (
        f"{count}: requests of all go through the IOMMU, and no function reaches another of "
        f"{_of_others(view)} without it{lie}"
    )


def _of_others(view: Isolation) -> str:
    in_vms = any(owner.vm is not None for owner in view.owners.values())
    return "another VM or IOMMU group" if in_vms else "another IOMMU group"
