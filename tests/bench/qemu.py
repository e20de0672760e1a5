"""The QEMU process of one machine: its arguments, its start, its end, and its monitor (QMP)."""

import contextlib
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.fabric import Fabric
from bench.lines import LineSocket
from bench.machine import Machine

_ALWAYS_APPENDED = [
    "console=ttyS0",
    "quiet",
    "panic=-1",  # reboot at once, which ends QEMU
]
_DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test $PPID = $0 && exec "$@"']
_MONITOR_TIMEOUT = 60  # seconds


class QemuError(Exception):
    """QEMU ended, or refused a command."""


@dataclass(frozen=True, slots=True)
class Images:
    """What the guest is booted from.

    Attributes:
        kernel: A bzImage.
        initrd: Of the kernel.
        disks: Read-only, in the order in which the guest sees them.
    """

    kernel: Path
    initrd: Path
    disks: Sequence[Path]


class _MonitorError(msgspec.Struct):
    desc: str


class _MonitorLine(msgspec.Struct):
    event: str | None = None
    error: _MonitorError | None = None


class Qemu:
    """A running QEMU, stopped before its guest's first instruction.

    Attributes:
        pid: Of the process.
        memory: Open file of its memory.
        ports: By name, the virtio-serial ports that the guest can open.
    """

    def __init__(
        self,
        machine: Machine,
        fabric: Fabric,
        images: Images,
        *,
        nonce: str,
        ports: Sequence[str],
        directory: Path,
    ) -> None:
        """Start it.

        Args:
            machine: What to emulate.
            fabric: The machine's fabric.
            images: What to boot.
            nonce: A UUID, which the guest finds as the machine's.
            ports: Names of the virtio-serial ports.
            directory: For console and messages.

        Raises:
            QemuError: It ended at once; the message says what it said.
        """
        self._console = directory / "console.log"
        self._messages = directory / "qemu.log"
        monitor, monitor_end = socket.socketpair()
        pairs = {name: socket.socketpair() for name in ports}
        ends = {name: end for name, (_, end) in pairs.items()}
        with self._messages.open("wb") as messages:
            self._process = subprocess.Popen(
                [
                    *_DIE_WITH_PARENT,
                    str(os.getpid()),
                    *_arguments(machine, fabric, images, nonce, self._console),
                    *_monitor_arguments(monitor_end),
                    *_port_arguments(ends),
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

    def command(self, name: str) -> None:
        """Make the monitor do something.

        Raises:
            QemuError: It refused, or QEMU is gone.
        """
        try:
            self._monitor.send(msgspec.json.encode({"execute": name}))
        except OSError as error:
            raise QemuError("QEMU has ended") from error
        reply = self._next_reply()
        if reply.error is not None:
            raise QemuError(f"{name}: {reply.error.desc}")

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


def _arguments(
    machine: Machine, fabric: Fabric, images: Images, nonce: str, console: Path
) -> list[str]:
    append = [*_ALWAYS_APPENDED, *_iommu_words(machine), *machine.append]
    return [
        *("qemu-system-x86_64", "-machine", "q35,kernel-irqchip=split"),
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(max(2, machine.numa_nodes))),
        *("-m", f"{machine.memory_mb}M", *_numa_arguments(machine)),
        *("-nodefaults", "-display", "none", "-no-reboot", "-S", "-uuid", nonce),
        *("-serial", f"file:{console}"),
        *("-kernel", str(images.kernel), "-initrd", str(images.initrd)),
        *("-append", " ".join(append)),
        *_dmi_arguments(machine),
        *_iommu_arguments(machine),
        *_disk_arguments(images.disks),
        *fabric.host_bridges,
        *(argument for function in fabric.functions for argument in function.arguments),
    ]


def _numa_arguments(machine: Machine) -> Iterator[str]:
    if machine.numa_nodes > 1:
        size = machine.memory_mb // machine.numa_nodes
        for node in range(machine.numa_nodes):
            yield from ("-object", f"memory-backend-ram,id=memory-{node},size={size}M")
            yield from ("-numa", f"node,nodeid={node},memdev=memory-{node},cpus={node}")


def _dmi_arguments(machine: Machine) -> list[str]:
    if machine.dmi is None:
        return []
    vendor, product = (text.replace(",", ",,") for text in (machine.dmi.vendor, machine.dmi.product))
    return ["-smbios", f"type=1,manufacturer={vendor},product={product}"]


def _iommu_words(machine: Machine) -> list[str]:
    return ["intel_iommu=on"] if machine.iommu == "intel" else []


def _iommu_arguments(machine: Machine) -> list[str]:
    match machine.iommu:
        case "intel":
            device_tlb = "on" if machine.device_tlb else "off"
            return ["-device", f"intel-iommu,intremap=on,device-iotlb={device_tlb}"]
        case "amd":
            return ["-device", "amd-iommu,intremap=on"]
        case "none":
            return []


def _disk_arguments(disks: Sequence[Path]) -> Iterator[str]:
    for number, disk in enumerate(disks):
        yield from ("-drive", f"file={disk},format=raw,readonly=on,if=none,id=disk-{number}")
        yield from ("-device", f"virtio-blk-pci,drive=disk-{number},bus=pcie.0,addr={2 + number}")


def _monitor_arguments(end: socket.socket) -> list[str]:
    return ["-chardev", f"socket,id=monitor,fd={end.fileno()}", "-mon", "monitor,mode=control"]


def _port_arguments(ends: dict[str, socket.socket]) -> Iterator[str]:
    yield from ("-device", "virtio-serial-pci,bus=pcie.0,addr=1")
    for name, end in ends.items():
        yield from ("-chardev", f"socket,id={name},fd={end.fileno()}")
        yield from ("-device", f"virtserialport,chardev={name},name={name}")
