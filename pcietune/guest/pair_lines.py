"""What pairs of a VM's functions may expect, for people: those that expect the same at once."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from pcietune.guest.plan import Expectation


def pair_lines(pairs: Iterable[Expectation]) -> Iterator[str]:
    """Yield a line for each set of functions whose pairs may expect the same."""
    alike: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        text = f"{pair.means}, {pair.bandwidth}"
        alike.setdefault(text, {}).setdefault(pair.one, []).append(pair.other)
    for text, partners in alike.items():
        for who in _together(partners):
            yield f"{who}  {text}"


def _together(partners: dict[str, list[str]]) -> Iterator[str]:
    """Yield who goes with whom, where ``partners`` has the second ones of each first one."""
    pairs = {(one, other) for one, others in partners.items() for other in others}
    names = sorted({name for pair in pairs for name in pair}, key=_counted)
    if len(names) > 2 and pairs == set(combinations(names, 2)):
        yield f"{', '.join(names)} with each other"
        return
    ones: dict[str, list[str]] = {}
    for one, others in partners.items():
        ones.setdefault(", ".join(others), []).append(one)
    for others_named, those in ones.items():
        yield f"{', '.join(those)} with {others_named}"


def _counted(name: str) -> tuple[str, int]:
    """Return what sorts names as they were counted: gpu2 before gpu10."""
    kind = name.rstrip("0123456789")
    return kind, int(name.removeprefix(kind) or 0)
