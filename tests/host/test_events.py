import errno
import os
from collections.abc import Callable

import pytest

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.host.events import Silence, UdevEvents, hear, read_event
from pcietune.model.device_event import NOTHING, Action, DeviceEvent, ErrorEvent, Heard

NIC = PciAddress.parse("0000:24:00.0")
BOUND = DeviceEvent(NIC, Action.BIND)


def received(*each: DeviceEvent | Silence | OSError) -> Callable[[], DeviceEvent | Silence]:
    """Return what receives these, one after the other, and then nothing more."""
    left = [*each, Silence.NO_MORE]

    def receive() -> DeviceEvent | Silence:
        first = left.pop(0)
        if isinstance(first, OSError):
            raise first
        return first

    return receive


def no_error() -> int:
    return 0


@pytest.mark.parametrize("action", ["add", "remove", "bind", "unbind", "change"])
def test_what_the_kernel_says_of_a_function_is_an_event(action: str) -> None:
    assert read_event(action, "0000:24:00.0", None) == DeviceEvent(NIC, Action(action))


@pytest.mark.parametrize("error", ["BEGIN_RECOVERY", "SUCCESSFUL_RECOVERY", "FAILED_RECOVERY"])
def test_a_change_tells_how_far_recovery_is(error: str) -> None:
    event = read_event("change", "0000:24:00.0", error)

    assert event == DeviceEvent(NIC, Action.CHANGE, ErrorEvent(error))


@pytest.mark.parametrize("name", ["pci0000:20", "", "../../etc", "0000:24:00.9", "eth0"])
def test_what_is_no_function_is_no_event(name: str) -> None:
    assert read_event("add", name, None) is None


@pytest.mark.parametrize("action", ["move", "online", "", None])
def test_what_changes_nothing_of_interest_is_no_event(action: str | None) -> None:
    assert read_event(action, "0000:24:00.0", None) is None


def test_an_error_event_that_nobody_knows_is_a_change_all_the_same() -> None:
    assert read_event("change", "0000:24:00.0", "NEW") == DeviceEvent(NIC, Action.CHANGE)


def test_all_that_waits_is_heard_but_for_what_is_not_ours() -> None:
    assert hear(received(BOUND, Silence.NOT_OURS, BOUND), no_error) == Heard((BOUND, BOUND))


def test_events_that_the_kernel_dropped_are_known_to_be_lost() -> None:
    overflow = OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))

    assert hear(received(BOUND, overflow, BOUND), no_error) == Heard((BOUND, BOUND), lost=True)


def test_they_are_so_also_where_the_poll_before_the_read_meets_the_error() -> None:
    nameless = OSError("Error while polling fd: 5")  # as pyudev's poll says it

    assert hear(received(nameless, BOUND), lambda: errno.ENOBUFS) == Heard((BOUND,), lost=True)


def test_a_socket_that_fails_is_told_and_not_taken_for_silence() -> None:
    broken = OSError(errno.EBADF, os.strerror(errno.EBADF))

    with pytest.raises(NotPermittedError, match="udev's events cannot be read: Bad file"):
        hear(received(broken), no_error)


def test_a_storm_is_heard_in_parts_so_that_time_passes() -> None:
    heard = hear(received(*[BOUND] * 5000), no_error)

    assert 0 < len(heard.events) < 5000


def test_a_wait_ends_when_its_time_is_up() -> None:
    wake, _ = os.pipe()

    assert UdevEvents(wake).wait(0.01) == NOTHING


def test_a_wait_ends_when_it_is_woken() -> None:
    wake, waker = os.pipe()
    os.write(waker, b"!")

    assert UdevEvents(wake).wait(60).lost is False
