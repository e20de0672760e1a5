"""Which functions the host itself used when apply was last run by hand.

At boot, before drivers are loaded, no bond and no route shows that. So it is kept in ``/etc``,
which is surely on the root file system.
"""

from collections.abc import Mapping
from contextlib import suppress

from pcietune.host.host_files import HostFiles
from pcietune.host.run.keep_policy import ETC
from pcietune.host.run.run_files import (
    cannot_keep,
    make_run_directory,
    replace_run_file,
    run_path,
)

HOSTS_OWN = "hosts-own"

Uses = Mapping[tuple[str, str], str]
"""By location and id what a function was used for, as a phrase behind its address."""


def read_hosts_own(files: HostFiles) -> dict[tuple[str, str], str]:
    """Return what was kept; nothing if apply was never run by hand."""
    found = {}
    for line in (files.text(f"{ETC}/{HOSTS_OWN}") or "").splitlines():
        location, _, rest = line.partition(" ")
        name, _, use = rest.partition(" ")
        if use:
            found[location, name] = use
    return found


def keep_hosts_own(files: HostFiles, uses: Uses) -> None:
    """Keep it, a line for each function; no function, no file. Called under the host's lock.

    Raises:
        BadInputError: Somebody else than root could have made the file or its directory.
        NotPermittedError: It cannot be kept: ``/etc`` is full, missing or read-only.
    """
    if dict(uses) == read_hosts_own(files):
        return
    lines = [f"{location} {name} {use}\n" for (location, name), use in sorted(uses.items())]
    try:
        if lines:
            make_run_directory(files, ETC)
            replace_run_file(files, HOSTS_OWN, "".join(lines).encode(), ETC)
        else:
            with suppress(FileNotFoundError):
                run_path(files, HOSTS_OWN, ETC).unlink()
    except OSError as error:
        raise cannot_keep("what the host uses itself", files, error, ETC) from error
