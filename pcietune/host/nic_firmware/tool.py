"""Runs mstconfig or mlxconfig, one NIC at a time."""

import shutil

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted
from pcietune.host.nic_firmware.answer import parse_answer
from pcietune.host.vendor_tool import LONGEST_S, run_vendor_tool
from pcietune.model.nic_firmware import Answer, Parameter

TOOLS = ("mstconfig", "mlxconfig")

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
        return run_vendor_tool(
            [self.path, "-d", str(address), *arguments],
            f"{self.path} -d {address} -e query",
            self._longest_s,
            _said,
            f"{address}: ",
        )


def _said(output: str, errors: str) -> str:
    """Return the line that says what is wrong, else the last one."""
    spoken = [*errors.splitlines(), *output.splitlines()]
    lines = [line.strip() for line in spoken if line.strip()]
    for line in lines:
        if line.startswith(_ERROR):
            return quoted(line.removeprefix(_ERROR).strip())
    return quoted(lines[-1]) if lines else "it said nothing"
