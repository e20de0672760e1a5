"""The QEMU process of one machine: its start, its end, and its monitor (QMP)."""

import contextlib
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.fabric import Fabric
from bench.lines import LineSocket
from bench.machine import Machine
from bench.qemu_arguments import Images, machine_arguments, monitor_arguments, port_arguments

AGENT_PORT = "bench.agent"
DOORBELL_PORT = "bench.doorbell"

_DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test $PPID = $0 && exec "$@"']
_MONITOR_TIMEOUT = 60  # seconds


class QemuError(Exception):
    """QEMU ended, or refused a command."""


class _MonitorError(msgspec.Struct):
    desc: str


class _MonitorLine(msgspec.Struct):
    event: str | None = None
    error: _MonitorError | None = None
    result: object = msgspec.field(name="return", default=None)


class Qemu:
    """A running QEMU, stopped before its guest's first instruction.

    Attributes:
        pid: Of the process.
        memory: Open file of its memory.
        ports: By name, the ends of the virtio-serial ports that the guest can open.
    """

    def __init__(
        self,
        machine: Machine,
        fabric: Fabric,
        images: Images,
        *,
        nonce: str,
        directory: Path,
    ) -> None:
        """Start it.

        Args:
            machine: What to emulate.
            fabric: The machine's fabric.
            images: What to boot.
            nonce: A UUID, which the guest finds as the machine's.
            directory: For console and messages.

        Raises:
            QemuError: It ended at once; the message says what it said.
        """
        self._console = directory / "console.log"
        self._messages = directory / "qemu.log"
        monitor, monitor_end = socket.socketpair()
        pairs = {name: socket.socketpair() for name in (AGENT_PORT, DOORBELL_PORT)}
        ends = {name: end for name, (_, end) in pairs.items()}
        with self._messages.open("wb") as messages:
            self._process = subprocess.Popen(
                [
                    *_DIE_WITH_PARENT,
                    str(os.getpid()),
                    *machine_arguments(machine, fabric, images, nonce, self._console),
                    *monitor_arguments(monitor_end),
                    *port_arguments(ends),
                ],
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                pass_fds=[end.fileno() for end in (monitor_end, *ends.values())],
            )
        for end in (monitor_end, *ends.values()):
            end.close()
        self.pid = self._process.pid
        self.ports = {name: LineSocket(ours) for name, (ours, _) in pairs.items()}
        self._monitor = LineSocket(monitor)
        try:
            self._next_reply()  # the greeting
            self.command("qmp_capabilities")
            self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        except BaseException:
            self._kill()
            raise

    @property
    def exit_status(self) -> int:
        """Wait for the process, which is about to end, and return its exit status."""
        return self._process.wait(_MONITOR_TIMEOUT)

    @property
    def messages(self) -> str:
        """What QEMU itself printed."""
        return self._messages.read_text()

    def console_tail(self, lines: int = 60) -> str:
        """Return the last lines on the guest's serial console."""
        text = self._console.read_text(errors="backslashreplace")
        return "\n".join(text.splitlines()[-lines:])

    def command(self, name: str, **arguments: str) -> object:
        """Make the monitor do something, and return its answer.

        Raises:
            QemuError: It refused, or QEMU is gone.
        """
        try:
            self._monitor.send(
                msgspec.json.encode(
                    {
                        "execute": name,
                        "arguments": {key.replace("_", "-"): arguments[key] for key in arguments},
                    }
                )
            )
        except OSError as error:
            raise QemuError("QEMU has ended") from error
        reply = self._next_reply()
        if reply.error is not None:
            raise QemuError(f"{name}: {reply.error.desc}")
        return reply.result

    def tell(self, *words: str) -> str:
        """Give the monitor a command in its other language, for people; return what it printed.

        Raises:
            QemuError: QEMU is gone.
        """
        return str(self.command("human-monitor-command", command_line=" ".join(words)))

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Hold the guest still for a while."""
        self.command("stop")
        try:
            yield
        finally:
            self.command("cont")

    def close(self) -> None:
        """End the process, at once."""
        self._kill()
        os.close(self.memory)

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._monitor, *self.ports.values()):
            end.close()

    def _next_reply(self) -> _MonitorLine:
        """Return the answer to the last command, or the greeting, past the events before it."""
        deadline = time.monotonic() + _MONITOR_TIMEOUT
        while True:
            while (line := self._monitor.take()) is not None:
                reply = msgspec.json.decode(line, type=_MonitorLine)
                if reply.event is None:
                    return reply
            if self._monitor.closed:
                raise QemuError(f"QEMU has ended: {self.messages}")
            if not select.select([self._monitor], [], [], deadline - time.monotonic())[0]:
                raise QemuError("QEMU's monitor does not answer")
            self._monitor.receive()
