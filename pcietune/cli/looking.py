"""What topo and groups begin with: the whole fabric, its roles, and what is protected."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.cli import show
from pcietune.cli.judging import Request, decided, describe, recognise
from pcietune.errors import NoProfileError
from pcietune.host.sysfs import SysfsHost
from pcietune.model.fabric import Fabric
from pcietune.model.role_name import RoleName
from pcietune.report.outcome import Outcome
from pcietune.tune.match.protect import left_out, protect
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.match.survey import survey


def look_over(
    host: SysfsHost, profile: str | None, outcome: Outcome
) -> tuple[Fabric, Mapping[PciAddress, RoleName]]:
    """Return all that the host has, and which function has which role; fill in what is protected.

    Where no profile describes the host that is noted, and no function has a role.

    Raises:
        BadInputError: A setting or profile cannot be used.
    """
    describe(host, outcome)
    settings = decided(host, outcome)
    try:
        recognise(host, Request(profile), settings, outcome)
    except NoProfileError as error:
        show.note(f"{error}: no roles are shown")
    fabric = survey(host, lambda functions: functions)
    match = outcome.match
    roles = {} if match is None else assign_roles(match.profile, fabric, host)
    outcome.protection = protect(host, fabric, roles, settings.protect)
    gone = left_out(roles, outcome.protection)
    return fabric, {address: role for address, role in roles.items() if address not in gone}
