"""What a run left for the udev rule and its hook."""

from dataclasses import dataclass

from pcietune.model.policy import HookPolicy
from pcietune.model.stamp import Stamp


@dataclass(frozen=True, slots=True)
class KeptPolicy:
    """A policy that was compiled and kept.

    Attributes:
        policy: What the hook may do until the next apply.
        stamps: Of the functions that were seen to be as wanted.
    """

    policy: HookPolicy
    stamps: tuple[Stamp, ...]
