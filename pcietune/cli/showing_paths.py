"""What ``paths`` shows: all pairs, one pair, or who reaches whom without the IOMMU."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from pcietune.address import PciAddress
from pcietune.cli import show
from pcietune.cli.following import Asked, follow, who_has
from pcietune.cli.judging import decided
from pcietune.cli.looking import look_over
from pcietune.cli.progress import told
from pcietune.errors import BadInputError, ExitCode, PcietuneError
from pcietune.host.measured_file import read_measured
from pcietune.host.source import open_host
from pcietune.report.outcome import Outcome
from pcietune.report.paths_bandwidth import bandwidth_lines, measured_lines, measuring_lines
from pcietune.report.paths_document import paths_document
from pcietune.report.paths_isolation import isolation_document, isolation_lines
from pcietune.report.paths_matrix import matrix_lines, peer_lines
from pcietune.report.paths_pair import pair_lines
from pcietune.report.paths_summary import summary_lines
from pcietune.report.paths_transport import guest_lines, transport_lines, transport_table
from pcietune.tune.paths.bandwidth import BandwidthOf
from pcietune.tune.paths.excerpt import check_whole
from pcietune.tune.paths.isolation import Known, view_isolation
from pcietune.tune.paths.means import is_for_a_vm
from pcietune.tune.paths.measured import parse_measured
from pcietune.tune.paths.peers import physical_peers
from pcietune.tune.paths.view import Pair, PathsView, Peer
from pcietune.tune.view.group_warnings import group_warnings

_MOST_PROBLEMS = 3  # of a dump by others than root each function is one


def show_all(source: Sequence[Path] | None, asked: Asked, *, as_json: bool) -> NoReturn:
    """Show all pairs of a host, and end the command."""
    outcome = Outcome()
    with open_host(source) as host, told(host):
        followed = follow(host, asked, outcome)
        view = followed.view
        summary = list(summary_lines(view, BandwidthOf(host, followed.fabric, view.peers)))
    if as_json:
        pairs = list(view.pairs.values())
        show.document(paths_document(view, pairs, followed.transports, followed.guest))
    else:
        console = Console()
        show.lines(matrix_lines(view, console.width if console.is_terminal else None))
        show.lines(["", *summary] if summary else [])
        show.lines(transport_table(view, followed.transports))
        show.lines(guest_lines(followed.guest))
    _end((*outcome.errors, *view.problems))


def show_pair(
    source: Sequence[Path] | None,
    asked: Asked,
    names: tuple[str, str],
    measured: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Show one pair, and end the command.

    Args:
        source: ``--from``.
        asked: What else the command line asked for.
        names: The two, by label or address.
        measured: A file of results to be compared; None if there is none.
        as_json: ``--json``.

    Raises:
        BadInputError: One of the two is no peer, or the results make no sense.
    """
    found = None if measured is None else parse_measured(read_measured(measured), str(measured))
    outcome = Outcome()
    with open_host(source) as host, told(host):
        followed = follow(host, asked, outcome)
        view = followed.view
        pair = _pair(view, _peer(view, names[0]), _peer(view, names[1]))
        bandwidth_of = BandwidthOf(host, followed.fabric, view.peers)
        bandwidth = list(bandwidth_lines(pair, bandwidth_of))
        if found is not None:
            bandwidth += measured_lines(pair, bandwidth_of, found)
    if as_json:
        show.document(paths_document(view, [pair], followed.transports, followed.guest))
    else:
        show.lines(pair_lines(followed.fabric, pair))
        show.lines(bandwidth)
        show.lines(transport_lines(pair, followed.transports))
        show.lines(guest_lines(followed.guest))
        if found is None and pair.apart is None:
            in_vm = followed.guest is None and is_for_a_vm(pair)
            show.lines(measuring_lines(pair, in_vm=in_vm))
    _end((*outcome.errors, *view.problems))


def show_peer(source: Sequence[Path] | None, asked: Asked, name: str, *, as_json: bool) -> NoReturn:
    """Show all pairs of one peer, and end the command.

    Raises:
        BadInputError: It is no peer.
    """
    outcome = Outcome()
    with open_host(source) as host, told(host):
        followed = follow(host, asked, outcome)
    view = followed.view
    peer = _peer(view, name)
    if as_json:
        pairs = [pair for pair in view.pairs.values() if peer in (pair.one, pair.other)]
        show.document(paths_document(view, pairs, followed.transports, followed.guest))
    else:
        show.lines(peer_lines(view, peer))
    _end((*outcome.errors, *view.problems))


def show_isolation(
    source: Sequence[Path] | None,
    asked: Asked,
    names: tuple[str | None, str | None],
    *,
    as_json: bool,
) -> NoReturn:
    """Show which functions reach each other without the IOMMU, and end the command.

    Raises:
        BadInputError: A pair was named, too.
    """
    if names != (None, None):
        raise BadInputError("--isolation is about all functions", hint="leave out A and B")
    outcome = Outcome()
    with open_host(source) as host, told(host):
        fabric, roles = look_over(host, asked.profile, outcome)
        if not host.files.complete:
            check_whole(fabric, [f for f, kind, _ in physical_peers(host, fabric, roles) if kind])
        described = {} if outcome.match is None else outcome.match.profile.roles
        trusted = frozenset(a for a, role in roles.items() if described[role].trusted)
        users = {address: str(user) for address, user in who_has(host, fabric).items()}
        known = Known(trusted, users, decided(host, outcome).tenancy)
        view = view_isolation(host, fabric, roles, known)
        warnings = group_warnings(host)
    if as_json:
        show.document(isolation_document(view, warnings))
    else:
        show.lines(isolation_lines(view, warnings))
    _end((*outcome.errors, *view.problems))


def _peer(view: PathsView, name: str) -> Peer:
    """Return the peer of a label or address.

    Raises:
        BadInputError: There is none.
    """
    for peer in view.peers:
        if peer.label.lower() == name.lower():
            return peer
    address = None
    with suppress(BadInputError):
        address = PciAddress.parse(name)
    for peer in view.peers:
        if peer.function.address == address:
            return peer
    labels = [peer.label for peer in view.peers]
    near = get_close_matches(name.upper(), labels, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BadInputError(
        f"{name} is no GPU, RDMA NIC or NVMe drive of this host",
        hint=f"{meant}it has {', '.join(labels) or 'none'}; pcietune paths tells their addresses, "
        "--vfs those of VFs",
    )


def _pair(view: PathsView, one: Peer, other: Peer) -> Pair:
    """Return what is between two peers.

    Raises:
        BadInputError: They are the same, or none of them is a GPU.
    """
    pair = view.between(one, other)
    if pair is None:
        what = "the same" if one == other else "no pair with a GPU"
        raise BadInputError(f"{one.label} and {other.label} are {what}", hint="name a GPU of two")
    return pair


def _end(problems: Iterable[PcietuneError]) -> NoReturn:
    """End the command: of many problems the first are told in full."""
    every = tuple(problems)
    for problem in every[:_MOST_PROBLEMS]:
        show.error(problem)
    if len(every) > _MOST_PROBLEMS:
        show.note(f"{len(every) - _MOST_PROBLEMS} more could not be read; --json lists them")
    show.end((), ExitCode.of_several([problem.exit_code for problem in every]))
    raise AssertionError
