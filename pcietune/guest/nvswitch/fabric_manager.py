"""How Fabric Manager is reached and configured: fmpm's options, and lines of fabricmanager.cfg."""

import re
import shlex
from dataclasses import dataclass

from pcietune.errors import BadInputError, quoted
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.step import Where

CONFIG_FILE = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
IS_ACTIVE = "systemctl is-active nvidia-fabricmanager"
_HOSTNAME = re.compile(r"[\w.:-]+", re.ASCII)
_SOCKET = re.compile(r"/[^\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Reach:
    """Where Fabric Manager listens for fmpm, NVIDIA's client of it.

    Attributes:
        hostname: Its address; None: 127.0.0.1, where it runs.
        socket: Its Unix domain socket; None for TCP.
    """

    hostname: str | None = None
    socket: str | None = None

    def __post_init__(self) -> None:
        """Raise BadInputError if both are given, of which fmpm takes one, or one is none."""
        if self.hostname is not None and self.socket is not None:
            raise BadInputError(
                "fmpm takes an address or a socket of Fabric Manager's, not both",
                hint="leave --hostname or --unix-domain-socket out",
            )
        if self.hostname is not None and not _HOSTNAME.fullmatch(self.hostname):
            raise BadInputError(
                f"{quoted(self.hostname)}: no address or name of a host",
                hint="--hostname 192.0.2.7, where Fabric Manager listens",
            )
        if self.socket is not None and not _SOCKET.fullmatch(self.socket):
            raise BadInputError(
                f"{quoted(self.socket)}: no absolute path of a socket",
                hint="--unix-domain-socket /run/nvidia-fabricmanager/fm.sock",
            )

    def fmpm(self, *arguments: str) -> str:
        """Return fmpm's command line."""
        options: list[str] = []
        if self.hostname is not None:
            options = ["--hostname", self.hostname]
        if self.socket is not None:
            options = ["--unix-domain-socket", self.socket]
        return shlex.join(["fmpm", *options, *arguments])

    def where(self, model: NvSwitchModel) -> Where:
        """Return where fmpm runs: beside Fabric Manager, unless that is reached by its address."""
        beside = model is NvSwitchModel.SHARED and self.hostname is None
        return Where.SERVICE_VM if beside else Where.HOST


def config_lines(model: NvSwitchModel, reach: Reach) -> list[str]:
    """Return the lines of fabricmanager.cfg that a model needs, where Fabric Manager runs."""
    if model is NvSwitchModel.FULL:
        return ["FABRIC_MODE=0"]
    lines = ["FABRIC_MODE=1", "FABRIC_MODE_RESTART=0"]
    if reach.hostname is not None:
        lines.append(f"FM_CMD_BIND_INTERFACE={reach.hostname}")
    if reach.socket is not None:
        lines.append(f"FM_CMD_UNIX_SOCKET_PATH={reach.socket}")
    return lines
