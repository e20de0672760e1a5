"""QEMU started as libvirt would, to see which numbers its firmware gives the buses."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from guest.libvirt.virsh import Device, Native
from guest.qemu.running import Qemu

_KEPT = ("id", "bus", "addr", "multifunction")


def addresses(qemu: Qemu) -> dict[str, str]:
    """Return where each device is now, by its id."""
    return {name: device.address for name, device in qemu.pci_devices().items()}


@contextmanager
def started(native: Native, cells: int) -> Iterator[Qemu]:
    """Start QEMU with libvirt's devices; one without a driver here is a virtio one in its place."""
    words = ["-M", "q35", "-accel", "tcg", "-m", str(128 * cells), "-display", "none"]
    words += ["-nodefaults", "-no-user-config", "-qmp", "stdio"]
    for cell in range(cells):
        words += ["-object", f"memory-backend-ram,id=m{cell},size=128M"]
        words += ["-numa", f"node,nodeid={cell},memdev=m{cell}"]
    for device in native.devices():
        if "bus" in device:
            words += ["-device", msgspec.json.encode(_stand_in(device)).decode()]
    command = ["qemu-system-x86_64", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Qemu(process)
        finally:
            process.kill()


def _stand_in(device: Device) -> Device:
    if not {"host", "rng"} & device.keys():
        return device
    kept = {key: value for key, value in device.items() if key in _KEPT}
    return {"driver": "virtio-rng-pci"} | kept
