"""Host trees, with all their pairs."""

from trees.host import TreeHost
from tune.judged import judge, opened
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.model.profile import ModeName, Profile
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.pairs import PLAIN_LOOK, Look, view_paths
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.senders import Senders
from pcietune.tune.paths.view import Pair, PathsView


def viewed(
    tree: TreeHost,
    mode: ModeName | None = None,
    *,
    profile: Profile = PROFILE,
    look: Look = PLAIN_LOOK,
) -> PathsView:
    """Return the pairs of a host: judged in a mode, or with its roles alone."""
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    if mode is None:
        return view_paths(host, fabric, assign_roles(profile, fabric, host), None, look)
    audited = judge(host, profile, mode)
    return view_paths(host, fabric, audited.roles, audited, look)


def undescribed(tree: TreeHost, look: Look = PLAIN_LOOK) -> PathsView:
    """Return the pairs of a host that no profile describes."""
    host = opened(tree)
    return view_paths(host, survey(host, lambda functions: functions), {}, None, look)


def pair(view: PathsView, one: str, other: str) -> Pair:
    """Return a pair by the addresses, or labels, of its two."""
    (found,) = (
        pair
        for pair in view.pairs.values()
        if one in (str(pair.one.function.address), pair.one.label)
        and other in (str(pair.other.function.address), pair.other.label)
    )
    return found


def labels(view: PathsView) -> list[str]:
    """Return the labels of all peers, in their order."""
    return [peer.label for peer in view.peers]


def sender(tree: TreeHost, address: str, *, guest: bool = False) -> Sender:
    """Return what a function of a tree sends."""
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    wanted = PciAddress.parse(address)
    senders = Senders(host, fabric, {wanted} if guest else set(), {})
    return senders(fabric.functions[wanted])
