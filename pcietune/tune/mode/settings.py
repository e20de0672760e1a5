"""What is decided for a host on its way to another duty: for all of it, or some switch groups."""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.errors import BadInputError
from pcietune.model.finding import Subject
from pcietune.model.profile import ModeName
from pcietune.model.settings import Settings
from pcietune.model.switch_group import SwitchGroup


def named_groups(groups: Sequence[SwitchGroup], names: Sequence[str]) -> tuple[str, ...]:
    """Return the switch groups that are meant, by their names.

    Args:
        groups: All of the host.
        names: Addresses or locations of topmost upstream ports.

    Raises:
        BadInputError: There is no such switch group.
    """
    found = []
    for name in names:
        group = next((g for g in groups if Subject.of(g.top).is_named(name)), None)
        if group is None:
            raise BadInputError(
                f"there is no switch group {name} here",
                hint=f"this host has {', '.join(g.name for g in groups) or 'none'}",
            )
        found.append(group.name)
    return tuple(found)


def towards(settings: Settings, mode: ModeName, groups: Sequence[str]) -> Settings:
    """Return the settings as they are to be for another duty.

    Args:
        settings: Those of today.
        mode: The duty.
        groups: Names of the switch groups that come to it; empty for the whole host.

    Raises:
        BadInputError: Some switch groups are meant, and nobody decided what the others are for.
    """
    if not groups:
        return replace(settings, mode=mode, group_modes={})
    if settings.mode is None:
        raise BadInputError(
            "no mode is set for the rest of the host, and pcietune does not guess it",
            hint="write `mode: vm` or `mode: baremetal` into /etc/pcietune/pcietune.yaml first",
        )
    modes = {**settings.group_modes, **dict.fromkeys(groups, mode)}
    return replace(settings, group_modes=modes)
