"""Tell systemd how the service does: a datagram, as sd_notify(3) describes it."""

import os
import socket
from contextlib import suppress

_PLACE = "NOTIFY_SOCKET"


def notify(**assignments: str) -> None:
    """Send assignments such as ``READY="1"``; do nothing where no service manager listens.

    Nothing comes of a datagram that cannot be sent, as of sd_notify's: no work ends for it.
    """
    place = os.environ.get(_PLACE, "")
    if not place.startswith(("/", "@")):
        return
    text = "\n".join(f"{name}={value}" for name, value in assignments.items())
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(place if place.startswith("/") else f"\0{place[1:]}")
        sender.send(text.encode())
