"""A planned VM that really runs under QEMU, with other devices where VFIO's would be.

Software emulation: no KVM, IOMMU or device is needed.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TypeVar, cast

import msgspec
from msgspec.structs import replace

from pcietune.guest.devices import Passed
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.arguments import qemu_arguments
from pcietune.guest.qemu.options import Accelerator, QemuOptions

_LONGEST_S = 120.0

Answer = TypeVar("Answer")
Seen = TypeVar("Seen")


class Region(msgspec.Struct):
    """A BAR; its address is -1 as long as firmware has given none."""

    bar: int
    size: int
    address: int


class BelowBridge(msgspec.Struct):
    """The numbers that firmware gave a bridge."""

    secondary: int
    subordinate: int


class PciBridge(msgspec.Struct):
    """What is below a bridge."""

    bus: BelowBridge
    devices: list["PciDevice"] = []


class PciDevice(msgspec.Struct):
    """A function, as QEMU shows it."""

    bus: int
    slot: int
    function: int
    qdev_id: str
    regions: list[Region]
    pci_bridge: PciBridge | None = None

    @property
    def address(self) -> str:
        """Where it is now."""
        return f"0000:{self.bus:02x}:{self.slot:02x}.{self.function}"


class PciRoot(msgspec.Struct):
    """A root bus."""

    bus: int
    devices: list[PciDevice]


class Qemu:
    """A QEMU that runs, by its monitor (docs/interop/qmp-spec.rst)."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._read = cast("IO[bytes]", process.stdout)
        self._write = cast("IO[bytes]", process.stdin)
        self._read.readline()  # its greeting
        self.ask("qmp_capabilities", dict[str, str])

    def ask(self, command: str, kind: type[Answer], **arguments: str) -> Answer:
        """Return what the monitor answers."""
        question = {"execute": command, "arguments": arguments}
        self._write.write(msgspec.json.encode(question) + b"\n")
        self._write.flush()
        for line in self._read:
            answer = msgspec.json.decode(line)
            if "event" not in answer:
                assert "return" in answer, answer
                return msgspec.convert(answer["return"], type=kind)
        raise AssertionError(f"QEMU ended with {self._process.wait()}")

    def pci_devices(self) -> dict[str, PciDevice]:
        """Return all functions that have an id, by it."""
        roots = self.ask("query-pci", list[PciRoot])
        found = [device for root in roots for device in _all(root.devices)]
        return {device.qdev_id: device for device in found if device.qdev_id}

    def wait_for(self, look: Callable[["Qemu"], Seen], wanted: Seen) -> Seen:
        """Return what is seen once it is as wanted, or at the last."""
        last = time.monotonic() + _LONGEST_S
        while (seen := look(self)) != wanted and time.monotonic() < last:
            time.sleep(0.1)
        return seen


@contextmanager
def running(plan: Plan, *more: str, stand_in: Callable[[Passed], list[str]]) -> Iterator[Qemu]:
    """Run a plan, of which hugepages, the host's nodes and functions are left out.

    Args:
        plan: The plan.
        more: Further arguments.
        stand_in: Arguments that are there in place of a function's.
    """
    small = [replace(cell, host_node=None, hugepage_kib=None) for cell in plan.cells]
    arguments = qemu_arguments(replace(plan, cells=small), QemuOptions(Accelerator.TCG))
    first = next(n for n, word in enumerate(arguments) if word.startswith("vfio-pci,"))
    assert len(arguments[first - 1 :]) == 2 * len(plan.functions)  # they are the last
    standing = [word for each in plan.functions for word in stand_in(each)]
    command = ["qemu-system-x86_64", *arguments[: first - 1], *standing, *more, "-qmp", "stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Qemu(process)
        finally:
            process.kill()


def rng(function: Passed) -> list[str]:
    """Return a source of random numbers in a function's place: the least of QEMU's devices."""
    return ["-device", f"virtio-rng-pci,{place_of(function)}"]


def place_of(function: Passed) -> str:
    """Return a function's name and place as properties of a device."""
    addr = f"0x0.{function.function:#x}"
    return f"id={function.name},bus={function.parent},addr={addr},multifunction=on"


def _all(devices: list[PciDevice]) -> Iterator[PciDevice]:
    for device in devices:
        yield device
        if device.pci_bridge is not None:
            yield from _all(device.pci_bridge.devices)
