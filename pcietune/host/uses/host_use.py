"""What the host uses its own functions for: read on a live host, kept in a recording."""

import msgspec

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.disks import read_disks
from pcietune.host.uses.interfaces import read_default_routes, read_interfaces
from pcietune.host.uses.slots import read_slots
from pcietune.model.protection import HostUse

USES = "uses.json"
"""Where a recording keeps it, beside its manifest."""

_HINT = "record the host again"


class _Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A HostUse with addresses as text; no MAC or IP address, and no name of a private place."""

    interfaces: dict[str, list[str]] = {}
    slots: dict[str, str] = {}
    disks: dict[str, list[str]] = {}
    default_routes: list[str] = []
    not_known: list[str] = []


def read_host_use(files: HostFiles) -> HostUse | None:
    """Return what the host uses its functions for; None of a recording that does not tell.

    Raises:
        BadInputError: A recording's file is broken.
    """
    return _read_recorded(files) if files.recorded else _read_live(files)


def encode_host_use(use: HostUse) -> bytes:
    """Return it as a recording keeps it."""
    recorded = _Recorded(
        interfaces={name: list(map(str, found)) for name, found in use.interfaces.items()},
        slots=dict(use.slots),
        disks={str(address): list(places) for address, places in use.disks.items()},
        default_routes=list(use.default_routes),
        not_known=list(use.not_known),
    )
    return msgspec.json.format(msgspec.json.encode(recorded, order="deterministic")) + b"\n"


def _read_live(files: HostFiles) -> HostUse:
    try:
        disks, not_known = read_disks(files)
        interfaces, slots = read_interfaces(files), read_slots(files)
    except NotPermittedError as error:
        return HostUse(not_known=(f"what the host uses its functions for: {error}",))
    routes = read_default_routes(files)
    if routes is None:
        not_known.append("which interface has the default route: routes are not readable")
    lost = [name for name in routes or () if name not in interfaces]
    not_known += [f"which function is behind {name}, which has the default route" for name in lost]
    return HostUse(interfaces, slots, disks, routes or (), tuple(not_known))


def _read_recorded(files: HostFiles) -> HostUse | None:
    if not files.exists(USES):
        return None
    try:
        recorded = msgspec.json.decode(files.read(USES), type=_Recorded)
        return HostUse(
            {n: tuple(map(PciAddress.parse, found)) for n, found in recorded.interfaces.items()},
            recorded.slots,
            {PciAddress.parse(text): tuple(on) for text, on in recorded.disks.items()},
            tuple(recorded.default_routes),
            tuple(recorded.not_known),
        )
    except (OSError, msgspec.DecodeError, BadInputError, RecursionError) as error:
        raise BadInputError(
            f"{USES} of the recorded host is broken: {error}", hint=_HINT
        ) from error
