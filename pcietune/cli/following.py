"""What ``paths`` and ``report`` begin with: a host's pairs, now and once it is as wanted."""

from collections.abc import Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.cli.judging import decided, judge_by
from pcietune.cli.looking import look_over
from pcietune.host.sysfs import SysfsHost
from pcietune.host.uses.vfio_users import vfio_users
from pcietune.model.fabric import Fabric
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.vfio_user import VfioUser
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.audit import Audit
from pcietune.tune.paths.excerpt import check_whole
from pcietune.tune.paths.guest_view import Guest, guest_view
from pcietune.tune.paths.means import Transport
from pcietune.tune.paths.pairs import Look, view_paths
from pcietune.tune.paths.transport import transports
from pcietune.tune.paths.view import PathsView
from pcietune.tune.vfio_use import given_to_vfio


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for.

    Attributes:
        profile: ``--profile``; None to match the host.
        mode: ``--mode``; None for the setting.
        vfs: Whether each VF is shown by itself.
    """

    profile: str | None = None
    mode: ModeName | None = None
    vfs: bool = False


@dataclass(frozen=True, slots=True)
class Followed:
    """A host and its pairs.

    Attributes:
        fabric: All that it has.
        roles: Which function has which role; empty where no profile describes the host.
        audited: The host, judged; None without a profile or a mode.
        view: Its pairs.
        users: Who has functions open by VFIO; of a recording nobody.
        guest: What it shows as a VM; None if it is none.
        transports: By what GPUs, and NICs and GPUs, can move data; keys as of ``view.pairs``.
    """

    fabric: Fabric
    roles: Mapping[PciAddress, RoleName]
    audited: Audit | None
    view: PathsView
    users: Mapping[PciAddress, VfioUser]
    guest: Guest | None
    transports: Mapping[tuple[PciAddress, PciAddress], Transport]


def follow(host: SysfsHost, asked: Asked, outcome: Outcome) -> Followed:
    """Return the host's pairs, and fill in what is known of it.

    Without a mode or a profile there is no telling what is wanted, so nothing is judged.

    Raises:
        BadInputError: A setting or profile cannot be used, or does not have the mode; or a dump
            lacks the bridges above a GPU, NIC or drive.
    """
    fabric, roles = look_over(host, asked.profile, outcome)
    settings = decided(host, outcome, asked.mode)
    audited = None
    if outcome.match is not None and settings.mode is not None:
        audited = judge_by(host, fabric, outcome.match.profile, settings)
    users = who_has(host, fabric)
    release = host.platform().release
    look = Look(
        settings.mode,
        asked.vfs,
        {address: user.maps_peers(release) for address, user in users.items()},
        {address: str(user) for address, user in users.items()},
    )
    view = view_paths(host, fabric, roles, audited, look)
    if not host.files.complete:
        check_whole(fabric, [peer.function for peer in view.peers])
    guest = guest_view(host, fabric, view.peers)
    moved_by = transports(host, view, guest)
    return Followed(fabric, roles, audited, view, users, guest, moved_by)


def who_has(host: SysfsHost, fabric: Fabric) -> Mapping[PciAddress, VfioUser]:
    """Return who has functions open by VFIO; a recording has no processes."""
    if host.recorded:
        return {}
    given = given_to_vfio(host, fabric.functions.values())
    return vfio_users(host.files, [function.address for function in given]) if given else {}
