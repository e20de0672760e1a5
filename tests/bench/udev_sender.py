"""Sends events as udevd does, to whoever listens in this network namespace; run as a program.

The format is that of systemd's src/libsystemd/sd-device/device-monitor.c: a header, then the
properties. It prints what pcietune hears of that.
"""

import os
import socket
import struct
import sys
from pathlib import Path

from pcietune.host.events import UdevEvents
from pcietune.model.device_event import Heard

_UDEV_GROUP = 2
_KOBJECT_UEVENT = 15  # include/uapi/linux/netlink.h
_MAGIC = 0xFEED_CAFE
_HEADER = struct.Struct("=8s4sIII4s12x")
_NIC = "/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:04.0/0000:24:00.0"
_MORE_THAN_FITS = 1_000_000
_WAIT_S = 5.0


def message(**properties: str) -> bytes:
    """Return one event."""
    body = b"".join(f"{name}={value}".encode() + b"\0" for name, value in properties.items())
    subsystem = murmur_hash(properties["SUBSYSTEM"].encode()).to_bytes(4, "big")
    magic = _MAGIC.to_bytes(4, "big")
    return _HEADER.pack(b"libudev", magic, _HEADER.size, _HEADER.size, len(body), subsystem) + body


def murmur_hash(data: bytes) -> int:
    """Return MurmurHash2 of ``data`` with seed 0, 32 bits, by which the kernel filters events."""
    multiplier, mask = 0x5BD1_E995, 0xFFFF_FFFF
    value = len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        value = (value * multiplier & mask) ^ word
    if data[whole:]:
        value = (value ^ int.from_bytes(data[whole:], "little")) * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    return value ^ value >> 15


def main() -> None:
    """Send one event of each kind, then more than any buffer holds; print what is heard."""
    Path("/run/udev").mkdir()
    Path("/run/udev/control").touch()  # libudev listens only where udevd runs
    wake, _ = os.pipe()
    listener = UdevEvents(wake)
    sender = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _KOBJECT_UEVENT)
    nic = {"DEVPATH": _NIC, "SUBSYSTEM": "pci", "SEQNUM": "1"}
    for action in ("add", "bind", "unbind", "remove"):
        sender.sendto(message(ACTION=action, **nic), (0, _UDEV_GROUP))
    error = {"ACTION": "change", "ERROR_EVENT": "FAILED_RECOVERY"}
    sender.sendto(message(**error, **nic), (0, _UDEV_GROUP))
    sender.sendto(message(ACTION="add", **nic | {"SUBSYSTEM": "net"}), (0, _UDEV_GROUP))
    _tell(listener.wait(_WAIT_S))
    storm = message(ACTION="bind", **nic)
    for _ in range(_MORE_THAN_FITS):
        try:
            sender.sendto(storm, (0, _UDEV_GROUP))
        except OSError:
            break
    lost, heard = False, listener.wait(_WAIT_S)
    while heard.events or heard.lost:
        lost |= heard.lost
        heard = listener.wait(0)
    sender.sendto(storm, (0, _UDEV_GROUP))
    sys.stdout.write(f"lost {lost}\n")
    _tell(listener.wait(_WAIT_S))


def _tell(heard: Heard) -> None:
    for event in heard.events:
        sys.stdout.write(f"{event.address} {event.action} {event.error}\n")


if __name__ == "__main__":
    main()
