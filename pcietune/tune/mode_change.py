"""What a host is judged by on its way to another duty: all of it, or some switch groups."""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.errors import BadInputError
from pcietune.model.finding import Subject
from pcietune.model.profile import ModeName
from pcietune.model.switch_group import SwitchGroup
from pcietune.model.yardstick import Yardstick


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


def towards(now: Yardstick, mode: ModeName, groups: Sequence[str]) -> Yardstick:
    """Return what a host is to be judged by in another duty.

    Args:
        now: What it is judged by today; its mode is meaningless if nobody decided one.
        mode: The duty.
        groups: The switch groups that come to it; empty for the whole host.
    """
    if not groups:
        return replace(now, mode=mode, group_modes={})
    return replace(now, group_modes={**now.group_modes, **dict.fromkeys(groups, mode)})
