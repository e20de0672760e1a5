from pcietune.address import PciAddress
from pcietune.model.device_event import Action, DeviceEvent, ErrorEvent
from pcietune.model.kernel_log import LogLine
from pcietune.tune.watch.logged import KernelLog

ROOT = PciAddress.parse("0000:20:01.0")
BOOT = LogLine(1_000_000, "Linux version 6.12.0")
RESET = LogLine(2_000_000, "pcieport 0000:20:01.0: AER: Root Port link has been reset (0)")
RECOVERED = LogLine(2_100_000, "pcieport 0000:20:01.0: AER: device recovery successful")
FAILED = LogLine(3_000_000, "pcieport 0000:20:01.0: AER: device recovery failed")


def change(error: ErrorEvent) -> DeviceEvent:
    return DeviceEvent(ROOT, Action.CHANGE, error)


def test_what_was_logged_before_the_first_look_is_nothing_new() -> None:
    assert KernelLog().new_events([BOOT, RESET, RECOVERED]) == ()


def test_recovery_since_the_last_look_is_told_once_as_udev_would() -> None:
    log = KernelLog()
    log.new_events([BOOT])

    first = log.new_events([BOOT, RESET, RECOVERED])
    second = log.new_events([BOOT, RESET, RECOVERED, FAILED])

    assert first == (change(ErrorEvent.BEGUN), change(ErrorEvent.SUCCEEDED))
    assert second == (change(ErrorEvent.FAILED),)
    assert log.new_events([BOOT, RESET, RECOVERED, FAILED]) == ()


def test_a_log_whose_beginning_was_overwritten_is_read_from_where_it_was_left() -> None:
    log = KernelLog()
    log.new_events([BOOT, RESET])

    assert log.new_events([RECOVERED]) == (change(ErrorEvent.SUCCEEDED),)


def test_a_log_that_is_not_readable_says_nothing() -> None:
    log = KernelLog()
    log.new_events([BOOT])

    assert log.new_events(None) == ()
    assert log.new_events([BOOT, FAILED]) == (change(ErrorEvent.FAILED),)
