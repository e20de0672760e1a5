"""Paths in sysfs: where a link leads, and which function something there belongs to."""

import os

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles


def behind(files: HostFiles, link: str) -> str | None:
    """Return where a link leads, relative to the host's root; None if it is no link."""
    target = files.link(link)
    return None if target is None else os.path.normpath(f"{link}/../{target}")


def function_of(path: str) -> PciAddress | None:
    """Return the function that is nearest above ``path``; None if there is none."""
    for name in reversed(path.split("/")):
        try:
            return PciAddress.parse(name)
        except BadInputError:
            continue
    return None
