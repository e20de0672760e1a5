"""Events of PCI functions as udev sends them, once its rules have run.

What a register holds is never taken from them.
"""

import errno
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

import pyudev

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.model.device_event import NOTHING, Action, DeviceEvent, ErrorEvent, Heard

_UDEV = Path("/run/udev/control")  # libudev listens to nobody where udev does not run
_BUFFER = 16 << 20  # bytes: thousands of events may come while a register is read
_MOST_AT_ONCE = 1024


class Silence(Enum):
    """What comes instead of an event."""

    NO_MORE = auto()
    NOT_OURS = auto()


class UdevEvents:
    """An EventSource: udev's events, and a descriptor whose readability ends a wait, too."""

    def __init__(self, wake: int) -> None:
        """Begin to listen.

        Args:
            wake: A descriptor that becomes readable when a wait is to end: at a signal.

        Raises:
            NotPermittedError: The kernel gives no socket for it.
        """
        try:
            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev")
            self._monitor.filter_by("pci")
            self._monitor.start()
        except (OSError, ImportError) as error:
            raise NotPermittedError(
                f"udev's events cannot be listened to: {error}", hint="is libudev installed?"
            ) from error
        with suppress(OSError):  # not root: then more may be lost, which is noticed
            self._monitor.set_receive_buffer_size(_BUFFER)
        self._poll = select.poll()
        self._poll.register(self._monitor.fileno(), select.POLLIN)
        self._poll.register(wake, select.POLLIN)

    @property
    def udev_runs(self) -> bool:
        """Whether there is a udev daemon that sends events."""
        return _UDEV.exists()

    def wait(self, timeout_s: float) -> Heard:
        """Return what came in within ``timeout_s`` seconds, or until a signal came.

        Raises:
            NotPermittedError: The kernel gives no events any more.
        """
        if not self._poll.poll(timeout_s * 1000):
            return NOTHING
        return hear(self._receive, self._pending_error)

    def _pending_error(self) -> int:
        """Return the socket's pending error, which ends it; pyudev's poll does not say which."""
        with socket.socket(fileno=os.dup(self._monitor.fileno())) as same:
            return same.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _receive(self) -> DeviceEvent | Silence:
        device = self._monitor.poll(timeout=0)
        if device is None:
            return Silence.NO_MORE
        error = device.properties.get("ERROR_EVENT")
        return read_event(device.action, device.sys_name, error) or Silence.NOT_OURS


def hear(receive: Callable[[], DeviceEvent | Silence], pending_error: Callable[[], int]) -> Heard:
    """Return what was received without waiting.

    Args:
        receive: Returns the next event.
        pending_error: Returns the error number of the socket, 0 if none, after ``receive`` failed.

    Raises:
        NotPermittedError: The kernel gives no events any more.
    """
    events: list[DeviceEvent] = []
    lost = False
    for _ in range(_MOST_AT_ONCE):
        try:
            received = receive()
        except OSError as error:
            code = error.errno or pending_error()
            if code != errno.ENOBUFS:
                raise NotPermittedError(
                    f"udev's events cannot be read: {os.strerror(code)}", hint="start it again"
                ) from error
            lost = True  # netlink(7): more came than the buffer holds
            continue
        if received is Silence.NO_MORE:
            break
        if isinstance(received, DeviceEvent):
            events.append(received)
    return Heard(tuple(events), lost)


def read_event(action: str | None, name: str, error: str | None) -> DeviceEvent | None:
    """Return one event; None if it is about no PCI function, or tells nothing of interest.

    Args:
        action: ACTION.
        name: Of the function in sysfs.
        error: ERROR_EVENT; None if there is none.
    """
    try:
        address = PciAddress.parse(name)
    except BadInputError:
        return None
    if action not in [known.value for known in Action]:
        return None
    known_error = ErrorEvent(error) if error in [known.value for known in ErrorEvent] else None
    return DeviceEvent(address, Action(action), known_error)
