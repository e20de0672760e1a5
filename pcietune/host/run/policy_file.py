"""The policy as a file in /run: apply writes it, the udev hook and watch read it.

On the hook's path: nothing imported but what the hook may.
"""

import json
import os

from pcietune.model.policy import HookPolicy

POLICY = "policy.json"
_LARGEST = 0x1000000  # bytes; a function of a policy takes some 1,000
_REGULAR = 0o100000  # of S_IFMT, as in sys/stat.h
_KIND = 0o170000  # S_IFMT
_OTHERS_MAY_WRITE = 0o022


def encode_policy(policy: HookPolicy) -> bytes:
    """Return the policy as it stands in the file."""
    return json.dumps(policy.plain()).encode() + b"\n"


def read_policy(directory: str, boot_id: str | None) -> HookPolicy | None:
    """Return the policy of this boot.

    None if there is none, or one that is another boot's, broken, or could be somebody else's work:
    then nothing is done.

    Args:
        directory: Where it is: ``/run/pcietune``.
        boot_id: Of this boot; None if the kernel does not say.
    """
    try:
        policy = HookPolicy.from_plain(json.loads(read_trusted(directory, POLICY)))
    except (OSError, ValueError, RecursionError):
        return None
    return policy if policy.boot_id == boot_id else None


def read_trusted(directory: str, name: str) -> bytes:
    """Return what a file holds that only root can have written; in tests, this user.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no plain file, too large, or somebody else owns or may write it or its
            directory.
    """
    _check(directory, os.lstat(directory), directory=True)
    path = f"{directory}/{name}"
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        _check(path, status, directory=False)
        if status.st_size > _LARGEST:
            raise ValueError(f"{path} is too large")
        data = os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)
    return data


def _check(path: str, status: os.stat_result, *, directory: bool) -> None:
    if not directory and status.st_mode & _KIND != _REGULAR:
        raise ValueError(f"{path} is no plain file")
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & _OTHERS_MAY_WRITE:
        raise ValueError(f"{path} is not root's alone")
