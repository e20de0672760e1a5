"""Runs mstconfig or mlxconfig, one NIC at a time."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError, quoted
from pcietune.host.nic_firmware.answer import parse_answer
from pcietune.model.nic_firmware import Answer, Parameter

TOOLS = ("mstconfig", "mlxconfig")
LONGEST_S = 60.0

_ERROR = "-E-"  # how both begin a line that says what is wrong


def find_tool(path: str | None = None) -> "ConfigTool":
    """Return the first of the programs that is on ``path``; None means PATH.

    Raises:
        BadInputError: None is.
    """
    for name in TOOLS:
        found = shutil.which(name, path=path)
        if found is not None:
            return ConfigTool(found)
    raise BadInputError(
        "neither mstconfig nor mlxconfig is on PATH: nothing else speaks with the NICs' firmware",
        hint="apt-get install mstflint, or dnf install mstflint",
    )


class ConfigTool:
    """One of the programs; a FirmwareTool.

    Attributes:
        path: Where it is.
    """

    def __init__(self, path: str, longest_s: float = LONGEST_S) -> None:
        """Run nothing yet.

        Args:
            path: Where it is.
            longest_s: How long one NIC may take, in seconds.
        """
        self.path = path
        self._longest_s = longest_s

    def query(self, address: PciAddress) -> Answer:
        """Return what the NIC at an address is set to.

        Raises:
            ConfigSpaceError: The tool failed, took too long, or said what makes no sense.
        """
        return parse_answer(self._run(address, "-e", "query"), address)

    def turn_on(self, address: PciAddress, parameter: Parameter) -> None:
        """Set a parameter to True, from the next reboot on.

        Raises:
            ConfigSpaceError: The tool failed or took too long.
        """
        self._run(address, "-y", "set", f"{parameter}=1")

    def _run(self, address: PciAddress, *arguments: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 -- a list of arguments, no shell
                [self.path, "-d", str(address), *arguments],
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C"},
                timeout=self._longest_s,
                start_new_session=True,  # Ctrl-C does not cut it off between two writes
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigSpaceError(
                f"{address}: {self.path} took longer than {self._longest_s:g} s and was stopped",
                hint=f"try it by hand: {self.path} -d {address} -e query",
            ) from error
        except OSError as error:
            raise ConfigSpaceError(
                f"{address}: {self.path} cannot be run: {error.strerror}"
            ) from error
        if done.returncode != 0:
            raise ConfigSpaceError(
                f"{address}: {self.path} failed: {_said([done.stderr, done.stdout])}",
                hint=f"try it by hand: {self.path} -d {address} -e query",
            )
        return done.stdout


def _said(texts: Sequence[str]) -> str:
    """Return the line that says what is wrong, else the last one."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(_ERROR):
            return quoted(line.removeprefix(_ERROR).strip())
    return quoted(lines[-1]) if lines else "it said nothing"
