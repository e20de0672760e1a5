"""Runs a vendor's program that asks its driver or firmware."""

import os
import subprocess
from collections.abc import Callable, Sequence

from pcietune.errors import ConfigSpaceError

LONGEST_S = 60.0


def run_vendor_tool(
    command: Sequence[str],
    by_hand: str,
    longest_s: float,
    complaint: Callable[[str, str], str],
    subject: str = "",
) -> str:
    """Return what a program prints.

    Args:
        command: Where the program is, and its arguments.
        by_hand: The command for people to try if it fails.
        longest_s: How long it may take, in seconds.
        complaint: Returns what is wrong by the standard output and the standard error of a program
            that failed, fit to be shown.
        subject: What an error's message begins with, such as ``0000:24:00.0: ``.

    Raises:
        ConfigSpaceError: The program cannot be run, failed, or took too long.
    """
    path = command[0]
    hint = f"try it by hand: {by_hand}"
    try:
        done = subprocess.run(  # noqa: S603 -- a list of arguments, no shell
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=longest_s,
            start_new_session=True,  # Ctrl-C does not cut it off between two writes
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigSpaceError(
            f"{subject}{path} took longer than {longest_s:g} s and was stopped", hint=hint
        ) from error
    except OSError as error:
        raise ConfigSpaceError(f"{subject}{path} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = complaint(done.stdout, done.stderr)
        raise ConfigSpaceError(f"{subject}{path} failed: {said}", hint=hint)
    return done.stdout
