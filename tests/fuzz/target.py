"""What is fuzzed: something that takes bytes which nobody vouches for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One reader of bytes.

    Attributes:
        look: Gives it bytes; raises what pcietune must not raise, or AssertionError where it took
            wrong for right.
        seeds: Bytes that make sense, from which the fuzzer sets out.
        longest: Bytes of the longest input that is tried.
    """

    look: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    longest: int
