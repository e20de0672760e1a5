"""All that ``report`` shows of a host."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pcietune.cli.following import Asked, follow
from pcietune.cli.progress import told
from pcietune.errors import ConfigSpaceError
from pcietune.host.recordings.kernel_command_line import without_private_values
from pcietune.host.source import open_host
from pcietune.model.platform import Platform
from pcietune.report.html.page import Seen
from pcietune.report.outcome import Outcome
from pcietune.tune.view.group_warnings import group_warnings
from pcietune.tune.view.groups import view_groups
from pcietune.tune.view.topology import topology


def draw_up(source: Sequence[Path] | None, asked: Asked) -> Seen:
    """Return what there is to show of a host.

    Raises:
        BadInputError: The source is no host, or a setting or profile cannot be used.
    """
    outcome = Outcome()
    with open_host(source) as host, told(host):
        followed = follow(host, asked, outcome)
        outcome.audit = followed.audited
        fabric, roles = followed.fabric, followed.roles
        protected = {} if outcome.protection is None else outcome.protection.why
        nodes = topology(host, fabric, roles, everything=True, protected=protected)
        complete = host.files.complete
        try:
            groups = view_groups(host, fabric, roles, everything=False, complete=complete)
        except ConfigSpaceError:  # a dump has none, and the page says so
            groups = None
        warnings = tuple(group_warnings(host))
    outcome.platform = None if outcome.platform is None else _for_others(outcome.platform)
    unread = () if groups is None else groups.problems
    problems = tuple(dict.fromkeys((*followed.view.problems, *unread)))
    return Seen(outcome, fabric, nodes, followed.view, groups, warnings, problems)


def _for_others(platform: Platform) -> Platform:
    """Return a host that tells no more than its recording would, since pages are passed on."""
    if platform.cmdline is None:
        return platform
    return replace(platform, cmdline=without_private_values(platform.cmdline))
