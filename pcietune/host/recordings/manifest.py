"""What a host archive says of itself: its format, and what could not be read."""

from pathlib import Path

import msgspec

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recorded_config import Unread
from pcietune.host.recordings.recorded_owners import RecordedOwners
from pcietune.host.recordings.recorded_use import RecordedUse
from pcietune.model.owners import Owners
from pcietune.model.protection import HostUse

MANIFEST = "manifest.json"
"""The manifest's name, at the top of the archive."""

_FORMAT = "pcietune host archive"
_VERSION = 1


class UnreadConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not recorded of one function's Configuration Space.

    Attributes:
        ranges: First offset, and the one behind the last, of each part; in bytes.
        reason: Why it was not read; null if only root may read it and someone else recorded.
        untold: Offset of a register, and its bits that are recorded as 0 and are not known.
    """

    ranges: tuple[tuple[int, int], ...]
    reason: str | None = None
    untold: tuple[tuple[int, int], ...] = ()


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a host archive says of itself.

    Attributes:
        format: Always the same words, by which an archive is known.
        version: Of the format.
        pcietune: Version of the pcietune that recorded.
        unread: By address: what is not recorded of a function's Configuration Space.
        errors: By path below the root: why another file could not be read.
        use: What the host used its own functions for; null where that is not known.
        complete: Whether what is absent was absent on the host; of a dump it is not known.
        owners: Who else gave functions to VFIO there; null where that is not known.
    """

    format: str = _FORMAT
    version: int = _VERSION
    pcietune: str = ""
    unread: dict[str, UnreadConfig] = {}
    errors: dict[str, str] = {}
    use: RecordedUse | None = None
    complete: bool = True
    owners: RecordedOwners | None = None

    def encode(self) -> bytes:
        """Return the manifest as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic")) + b"\n"

    def unread_by_address(self, source: str) -> dict[PciAddress, Unread]:
        """Return what is not recorded of each function of the recording called ``source``.

        Raises:
            BadInputError: A key is no address.
        """
        try:
            return {
                PciAddress.parse(address): Unread(unread.ranges, unread.reason, dict(unread.untold))
                for address, unread in self.unread.items()
            }
        except BadInputError as error:
            raise _broken(source, error) from error

    def host_use(self, source: str) -> HostUse | None:
        """Return what the host called ``source`` used its functions for; None if not known.

        Raises:
            BadInputError: Something else stands where an address should be.
        """
        try:
            return None if self.use is None else self.use.decoded()
        except BadInputError as error:
            raise _broken(source, error) from error

    def host_owners(self, source: str) -> Owners | None:
        """Return who else was at work on the host called ``source``; None if not known.

        Raises:
            BadInputError: Something else stands where an address should be.
        """
        try:
            return None if self.owners is None else self.owners.decoded()
        except BadInputError as error:
            raise _broken(source, error) from error


def read_manifest(root: Path, source: str) -> Manifest:
    """Return the manifest of the recording at ``root``; without one, everything is recorded.

    Raises:
        BadInputError: It cannot be read, or as ``decode_manifest``.
    """
    files = HostFiles(root, recorded=True)
    if not files.exists(MANIFEST):
        return Manifest()
    try:
        data = Path(files.path(MANIFEST)).read_bytes()
    except OSError as error:
        raise BadInputError(
            f"{source}: {MANIFEST} cannot be read: {error.strerror}", hint="record the host again"
        ) from error
    return decode_manifest(data, source)


class _Header(msgspec.Struct):
    format: str = ""
    version: int = 0


def decode_manifest(data: bytes, source: str) -> Manifest:
    """Return the manifest of the recording called ``source``.

    Raises:
        BadInputError: It is not JSON, of another format or of a version that is not known.
    """
    try:
        header = msgspec.json.decode(data, type=_Header)
        if header.format != _FORMAT:
            raise BadInputError(
                f"{source} is not a host archive of pcietune",
                hint="make one on the host: pcietune record FILE",
            )
        if header.version != _VERSION:
            raise BadInputError(
                f"{source}: host archive version {header.version} is not known",
                hint=f"this pcietune reads version {_VERSION}; use the one that recorded it",
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _broken(source, error) from error


def _broken(source: str, why: Exception) -> BadInputError:
    return BadInputError(f"{source}: {MANIFEST} is broken: {why}", hint="record the host again")
