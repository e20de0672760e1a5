"""Whole units shared out by weight."""

from collections.abc import Sequence
from itertools import count


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Return ``total`` in parts as the weights are, which add up; remainders go to the largest.

    No part is more than one unit away from its exact share.
    """
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    remainders = [total * weight % whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda index: -remainders[index])
    for index in by_remainder[: total - sum(parts)]:
        parts[index] += 1
    return parts


def least_for_each(weights: Sequence[int]) -> int:
    """Return the least total of which each part is a unit or more."""
    return next(total for total in count(len(weights)) if all(split(total, weights)))


def most_that_fits(room: Sequence[int], weights: Sequence[int]) -> int:
    """Return a total whose parts all have room, and that is at most a unit a part too small."""
    whole = sum(weights)
    return min(has * whole // weight for has, weight in zip(room, weights, strict=True))
