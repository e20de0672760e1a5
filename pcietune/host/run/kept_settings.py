"""The settings as they were when the udev hook's policy was compiled.

On the hook's path. An owner who changes them, to ``enforce: audit`` for instance, is not obeyed by
a policy of before: what the hook may write is known again when the next apply has run.
"""

import os

from pcietune.host.run.trusted_file import read_trusted

KEPT = "settings"
SETTINGS = "etc/pcietune/pcietune.yaml"
_LARGEST = 0x100000  # bytes; of larger settings none are obeyed


def read_settings(path: str) -> bytes:
    """Return what the settings' file holds; nothing if there is none.

    Raises:
        OSError: It cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)


def same_settings(root: str) -> bool | None:
    """Return whether the settings are those that the policy of this boot was compiled by.

    None if this user may not look, as root always may.

    Args:
        root: What stands for the host's ``/``, without a slash at its end.
    """
    try:
        return read_trusted(f"{root}/run/pcietune", KEPT) == read_settings(f"{root}/{SETTINGS}")
    except PermissionError:
        return None
    except (OSError, ValueError):
        return False
