"""The running guest as a test sees it."""

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from bench.agent_link import AgentLink
from bench.config_patches import Patch
from bench.errors import GuestError, GuestTimeoutError
from bench.functions import Functions, location_of
from bench.qemu import Qemu

_BOOT_TIMEOUT = 240  # seconds
_PRELOAD_TIMEOUT = 30  # seconds


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended.

    Attributes:
        returncode: Its exit status; negative: the signal that ended it.
        stdout: What it wrote; bytes that are not UTF-8 appear as escapes.
        stderr: Likewise.
    """

    returncode: int
    stdout: str
    stderr: str


class _Ended(msgspec.Struct):
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool


class Guest:
    """A booted machine.

    Functions are spoken of by the names that they have in the machine's file, or by address as
    sysfs has it: 0000:23:00.0. Every method raises GuestDiedError if the guest is gone.

    Attributes:
        PCIETUNE: The command that runs pcietune as a process of its own.
        qemu: The process that the guest runs in.
        python_path: Where its Python finds pcietune, and what that imports.
    """

    PCIETUNE: ClassVar = ("/usr/bin/python3", "-m", "pcietune")

    def __init__(
        self, qemu: Qemu, functions: Functions, agent: AgentLink, python_path: list[str]
    ) -> None:
        """Wait until the guest has booted and answers; pcietune is found along ``python_path``.

        Raises:
            GuestDiedError: It died before.
            GuestError: It does not answer.
        """
        self.qemu = qemu
        self.python_path = python_path
        self._functions = functions
        self._agent = agent
        self._preloaded = False
        agent.request("greet", object, timeout=_BOOT_TIMEOUT)

    def run(
        self,
        *argv: str,
        timeout: float = 60,
        env: dict[str, str] | None = None,
        stdin: str = "",
        user: str | None = None,
        cwd: str = "/",
    ) -> Result:
        """Run a command in the guest.

        Args:
            argv: The command and its arguments.
            timeout: In seconds.
            env: Added to the environment, which has PATH, HOME, LANG and PYTHONPATH.
            stdin: What it can read.
            user: None: root.
            cwd: Where it starts.

        Raises:
            GuestTimeoutError: It took longer; it and its process group were killed.
            GuestError: There is no such command, directory or user.
        """
        return self._command("run", argv, timeout, env, stdin, user, cwd)

    def pcietune(
        self,
        *arguments: str,
        timeout: float = 60,
        env: dict[str, str] | None = None,
        stdin: str = "",
        user: str | None = None,
        cwd: str = "/",
    ) -> Result:
        """Run pcietune in a fork of a process that has imported it; arguments are as in ``run``.

        ``run(*PCIETUNE, ...)`` does the same in a process of its own, which takes longer.

        Raises:
            GuestTimeoutError: It took longer; it and its process group were killed.
            GuestError: pcietune could not be imported, or there is no such directory or user.
        """
        if not self._preloaded:
            self._agent.request("preload", object, timeout=_PRELOAD_TIMEOUT, argv=self.python_path)
            self._preloaded = True
        return self._command("call", arguments, timeout, env, stdin, user, cwd)

    def _command(  # noqa: PLR0913, PLR0917 -- what a command can be given, passed on
        self,
        do: str,
        argv: tuple[str, ...],
        timeout: float,
        env: dict[str, str] | None,
        stdin: str,
        user: str | None,
        cwd: str,
    ) -> Result:
        ended = self._agent.request(
            do,
            _Ended,
            timeout=timeout,
            argv=argv,
            env={"PYTHONPATH": ":".join(self.python_path)} | (env or {}),
            stdin=stdin.encode(),
            user=user,
            cwd=cwd,
        )
        result = Result(
            ended.returncode,
            ended.stdout.decode(errors="backslashreplace"),
            ended.stderr.decode(errors="backslashreplace"),
        )
        if ended.timed_out:
            raise GuestTimeoutError(f"{argv} took longer than {timeout} s: {result}")
        return result

    def read_file(self, path: str) -> bytes:
        """Return the content of a file of the guest, read as root.

        Raises:
            GuestError: It cannot be read.
        """
        return self._agent.request("read_file", bytes, path=path)

    def write_file(self, path: str, content: bytes) -> None:
        """Make a file in the guest, or replace its content.

        Raises:
            GuestError: It cannot be written.
        """
        self._agent.request("write_file", object, path=path, data=content)

    def location(self, name: str) -> str:
        """Return where a function is, as the kernel's pci= options take it: 0000:20:00.0/00.0.

        Raises:
            GuestError: The machine has no such function.
        """
        return self._functions.location(name)

    def address(self, name: str) -> str:
        """Return the address of a function.

        Raises:
            GuestError: The machine has no such function, or the guest does not see it.
        """
        location = self._functions.location(name)
        for address, path in self._agent.request("device_paths", dict[str, str]).items():
            if location_of(path) == location:
                return address
        raise GuestError(f"the guest has no function at {location} ({name})")

    def config(self, address: str) -> bytes:
        """Return a function's whole configuration space, read as root."""
        return self.read_file(f"/sys/bus/pci/devices/{address}/config")

    def configs(self) -> dict[str, bytes]:
        """Return every function's whole configuration space, by address."""
        return self._agent.request("configs", dict[str, bytes])

    def poke(self, name: str, offset: int, data: bytes, writable: bytes | None = None) -> None:
        """Change what a function's configuration space reads as, behind the guest's back.

        Args:
            name: The function's.
            offset: Of the first byte.
            data: What is to be read there.
            writable: The bits that take the guest's writes from now on, as long as ``data``;
                None: as before.

        Raises:
            GuestError: The machine has no such function.
        """
        self._functions.poke(name, Patch(offset, data, writable))

    def vanish(self, name: str) -> None:
        """Make a function read as all ones and ignore writes, as if it were not there.

        What lies below a port cannot be reached either while the port has vanished.

        Raises:
            GuestError: The machine has no such function, or it has vanished already.
        """
        self._functions.vanish(name)

    def reappear(self, name: str) -> None:
        """Make a function that vanished what it was before.

        Raises:
            GuestError: It has not vanished.
        """
        self._functions.reappear(name)

    def plug(self, name: str) -> None:
        """Put an endpoint that is not there from the start into its slot (hot-plug).

        Raises:
            GuestError: The machine has no such function, or it is there.
        """
        self._functions.plug(name)

    def inject_error(self, name: str, error: str) -> None:
        """Have a port notice and report an error (Advanced Error Reporting).

        Args:
            name: The port's.
            error: As QEMU's monitor names it: ACSV is an ACS Violation.

        Raises:
            GuestError: The machine has no such function, or it cannot report that.
        """
        self._functions.inject_error(name, error)

    def shape_vfs(self, name: str, number: int) -> None:
        """Make virtual functions, which the guest has switched on, what the machine's file says.

        Use ``bench.vfs``, which does all that goes before. Raises what ``Functions`` raises.
        """
        self._functions.shape_vfs(name, number)

    def console_tail(self, lines: int = 60) -> str:
        """Return the last lines that the guest's kernel and its first programs printed."""
        return self.qemu.console_tail(lines)
