"""Keep what the udev rule and hook act by: policy, stamps, the ids that the rule looks for."""

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.kept_settings import KEPT, SETTINGS, read_settings
from pcietune.host.run.policy_file import POLICY, encode_policy
from pcietune.host.run.policy_lines import IDS, encode_lines
from pcietune.host.run.run_files import (
    RUN,
    cannot_keep,
    make_run_directory,
    open_run_file,
    replace_run_file,
    run_path,
)
from pcietune.host.run.stamp_file import STAMPS, decode_stamp, encode_stamp
from pcietune.model.policy import HookPolicy
from pcietune.model.stamp import Stamp

BIND = "bind"
EARLY = "early-overrides"
ETC = "etc/pcietune"  # surely on the root file system: apply runs before /var may be mounted
_WHAT = "the policy of the udev hook"
_PRIVATE = 0o600


def keep_policy(files: HostFiles, policy: HookPolicy, stamps: Collection[Stamp]) -> None:
    """Let the rule and the hook act by this policy, and only these stamps stand.

    To be called under the host's lock.

    Raises:
        BadInputError: Somebody else than root could have made a file or directory of them.
        NotPermittedError: They cannot be kept: ``/run`` is full, missing or read-only.
    """
    ids = {duty.id for duty in policy.duties}
    probed = {d.id for d in policy.duties if policy.enforce and d.is_bound_at_once}
    try:
        make_run_directory(files)
        replace_run_file(files, POLICY, encode_policy(policy))
        lines = {_as_in_uevent(each): encode_lines(policy, each) for each in ids}
        _fill(files, IDS, lines)
        _fill(files, BIND, {_as_in_uevent(each): b"" for each in probed})
        _fill(files, STAMPS, {stamp.address: encode_stamp(stamp) for stamp in stamps})
        replace_run_file(files, KEPT, read_settings(files.path(SETTINGS)), mode=_PRIVATE)
    except OSError as error:
        raise cannot_keep(_WHAT, files, error) from error


def forget_policy(files: HostFiles) -> None:
    """Let the rule and the hook do nothing until the next apply, and no stamp stand.

    To be called under the host's lock.

    Raises:
        BadInputError: Somebody else than root could have made a directory of them.
        NotPermittedError: A file cannot be removed.
    """
    try:
        for name in (IDS, BIND, STAMPS):
            if files.exists(f"{RUN}/{name}"):
                _fill(files, name, {})
        for name in (POLICY, KEPT):
            run_path(files, name).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_keep(_WHAT, files, error) from error


def keep_early_overrides(files: HostFiles, lines: Iterable[str]) -> bool:
    """Keep what an initramfs is to write into functions' ``driver_override``; no lines, no file.

    Returns:
        Whether that is something else than was kept before, which an older image has.

    Raises:
        BadInputError: Somebody else than root could have made the file or its directory.
        NotPermittedError: It cannot be kept: ``/etc`` is full, missing or read-only.
    """
    text = "".join(f"{line}\n" for line in lines)
    if text.strip() == (files.text(f"{ETC}/{EARLY}") or ""):
        return False
    try:
        if text:
            make_run_directory(files, ETC)
            replace_run_file(files, EARLY, text.encode(), ETC)
        else:
            with suppress(FileNotFoundError):
                run_path(files, EARLY, ETC).unlink()
    except OSError as error:
        raise cannot_keep("the overrides for the initramfs", files, error, ETC) from error
    return True


def read_stamps(files: HostFiles, boot_id: str | None) -> dict[str, Stamp]:
    """Return the stamps of this boot, by address; those that cannot be believed are left out.

    Not by location: a VF on another bus number may have that of its physical function.
    """
    directory = f"{RUN}/{STAMPS}"
    found = (_read_stamp(files, directory, name) for name in files.names(directory))
    return {
        stamp.address: stamp for stamp in found if stamp is not None and stamp.boot_id == boot_id
    }


def _read_stamp(files: HostFiles, directory: str, name: str) -> Stamp | None:
    try:
        descriptor = open_run_file(files, name, os.O_RDONLY, directory)
        with os.fdopen(descriptor, "rb") as file:
            return decode_stamp(file.read())
    except (OSError, BadInputError):
        return None


def _as_in_uevent(id: str) -> str:  # noqa: A002 -- as everywhere in the model
    """Return an id as the kernel's PCI_ID has it, which a udev rule cannot turn to lower case."""
    return id.upper()


def _fill(files: HostFiles, name: str, wanted: Mapping[str, bytes]) -> None:
    """Let a directory of /run hold just these files; what is as wanted is not touched."""
    directory = f"{RUN}/{name}"
    make_run_directory(files, directory)
    for extra in set(files.names(directory)) - set(wanted):
        run_path(files, extra, directory).unlink()
    for each, data in sorted(wanted.items()):
        if not _holds(files, directory, each, data):
            replace_run_file(files, each, data, directory)


def _holds(files: HostFiles, directory: str, name: str, data: bytes) -> bool:
    try:
        descriptor = open_run_file(files, name, os.O_RDONLY, directory)
    except FileNotFoundError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return file.read() == data
