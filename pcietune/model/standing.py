"""How pcietune stands on a host between its runs: its units, and what apply left in this boot."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.policy import HookPolicy


class UnitState(StrEnum):
    """What systemd will do with a unit at the next boot."""

    ENABLED = "enabled"
    NOT_ENABLED = "not enabled"
    MASKED = "masked"
    NOT_INSTALLED = "not installed"


@dataclass(frozen=True, slots=True)
class Standing:
    """What pcietune is set up to do here.

    Attributes:
        units: Those that an owner enables, by name.
        policy: What the udev hook may do; None if it was not compiled in this boot.
        settings_changed: Whether the settings are not those that it was compiled by, as far as
            this user may look: then the hook writes nothing.
        stamped: How many functions were seen to be as wanted in this boot, and not removed since.
    """

    units: Mapping[str, UnitState]
    policy: HookPolicy | None
    settings_changed: bool
    stamped: int
