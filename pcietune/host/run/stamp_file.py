"""Stamps as files in /run, one for each function, named after its address.

The udev rule looks for them: a function that has one starts no hook. On the hook's path: json is
imported only where there is a stamp to be read, which is rarely so when a function is added.
"""

import os

from pcietune.errors import NotPermittedError
from pcietune.host.run.json_line import json_line
from pcietune.host.run.trusted_file import read_trusted
from pcietune.model.stamp import Stamp

STAMPS = "stamps"
_TEXTS = ("address", "location", "id", "boot_id")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def encode_stamp(stamp: Stamp) -> bytes:
    """Return a stamp as it stands in its file."""
    return json_line({name: getattr(stamp, name) for name in stamp.__slots__})


def decode_stamp(data: bytes) -> Stamp | None:
    """Return what a file says; None if that is no stamp."""
    import json

    try:
        keys: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(keys, dict):
        return None
    texts = [text for name in _TEXTS if isinstance(text := keys.get(name), str)]
    verified_us, bound_before = keys.get("verified_us"), keys.get("bound_before")
    if len(texts) < len(_TEXTS) or not isinstance(verified_us, int):
        return None
    if bound_before is not None and not isinstance(bound_before, bool):
        return None
    address, location, its_id, boot_id = texts
    return Stamp(
        address=address,
        location=location,
        id=its_id,
        boot_id=boot_id,
        verified_us=verified_us,
        bound_before=bound_before,
    )


def read_stamp(directory: str, address: str) -> Stamp | None:
    """Return a function's stamp, maybe another boot's; None if there is none that can be believed.

    Args:
        directory: ``/run/pcietune/stamps``.
        address: Of the function.
    """
    try:
        return decode_stamp(read_trusted(directory, address))
    except (OSError, ValueError):
        return None


def has_stamp(directory: str, address: str) -> bool:
    """Return whether a function has a stamp, as the udev rule sees it."""
    return os.path.lexists(f"{directory}/{address}")


def write_stamp(directory: str, stamp: Stamp) -> None:
    """Let a function have this stamp, at once or not at all.

    Raises:
        NotPermittedError: It cannot be kept: ``/run`` is full or read-only.
    """
    new = f"{directory}/.{stamp.address}"
    try:
        _remove(new)  # of a run that was killed
        descriptor = os.open(new, _NEW, 0o644)
        try:
            data = encode_stamp(stamp)
            whole = os.write(descriptor, data) == len(data)
        finally:
            os.close(descriptor)
        if whole:
            os.rename(new, f"{directory}/{stamp.address}")
            return
        _remove(new)
    except OSError as error:
        raise _cannot_keep(directory, str(error.strerror)) from error
    raise _cannot_keep(directory, "no space is left")


def drop_stamp(directory: str, address: str) -> None:
    """Let a function have no stamp.

    Raises:
        NotPermittedError: It cannot be removed.
    """
    try:
        _remove(f"{directory}/{address}")
    except OSError as error:
        raise _cannot_keep(directory, str(error.strerror)) from error


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _cannot_keep(directory: str, reason: str) -> NotPermittedError:
    return NotPermittedError(f"no stamps can be kept in {directory}: {reason}")
