"""QEMU started as libvirt would, to see which numbers its firmware gives the buses."""

import contextlib
import subprocess
import time
from collections.abc import Iterator

import msgspec
from guest.libvirt.virsh import Device, Native

_PATIENCE_S = 120.0  # of a machine with much to do; SeaBIOS needs a tenth of a second
_KEPT = ("id", "bus", "addr", "multifunction")


class _Below(msgspec.Struct):
    devices: list["_Found"] = []


class _Found(msgspec.Struct):
    bus: int
    slot: int
    function: int
    qdev_id: str
    pci_bridge: _Below | None = None


class Enumerated:
    """A QEMU whose firmware runs, and nothing else."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said()  # its greeting
        self._asked("qmp_capabilities")

    def wait_for(self, name: str, address: str) -> dict[str, str]:
        """Return where each device is, as soon as the one of an id is at an address.

        Raises:
            TimeoutError: It never is.
        """
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            found = self._addresses()
            if found.get(name) == address:
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{name} is at no time at {address}")

    def _addresses(self) -> dict[str, str]:
        buses = msgspec.json.decode(self._asked("query-pci"), type=list[_Below])
        return {
            each.qdev_id: f"0000:{each.bus:02x}:{each.slot:02x}.{each.function:x}"
            for bus in buses
            for each in _all_of(bus)
        }

    def _asked(self, command: str) -> msgspec.Raw:
        assert self._process.stdin is not None
        self._process.stdin.write(f'{{"execute": "{command}"}}\n')
        self._process.stdin.flush()
        while True:
            said = self._said()
            if "return" in said:  # and no event
                return said["return"]

    def _said(self) -> dict[str, msgspec.Raw]:
        assert self._process.stdout is not None
        return msgspec.json.decode(self._process.stdout.readline(), type=dict[str, msgspec.Raw])


@contextlib.contextmanager
def started(native: Native, cells: int) -> Iterator[Enumerated]:
    """Start QEMU with libvirt's devices; one without a driver here is a virtio one in its place."""
    words = ["-M", "q35", "-accel", "tcg", "-m", str(128 * cells), "-display", "none"]
    words += ["-nodefaults", "-no-user-config", "-qmp", "stdio"]
    for cell in range(cells):
        words += ["-object", f"memory-backend-ram,id=m{cell},size=128M"]
        words += ["-numa", f"node,nodeid={cell},memdev=m{cell}"]
    for device in native.devices():
        if "bus" in device:
            words += ["-device", msgspec.json.encode(_stand_in(device)).decode()]
    with subprocess.Popen(
        ["qemu-system-x86_64", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Enumerated(process)
        finally:
            process.kill()


def _stand_in(device: Device) -> Device:
    if not {"host", "rng"} & device.keys():
        return device
    kept = {key: value for key, value in device.items() if key in _KEPT}
    return {"driver": "virtio-rng-pci"} | kept


def _all_of(bus: _Below) -> Iterator[_Found]:
    for each in bus.devices:
        yield each
        if each.pci_bridge is not None:
            yield from _all_of(each.pci_bridge)
