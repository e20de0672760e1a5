from pcietune.address import PciAddress
from pcietune.model.device_event import Action, DeviceEvent, Heard
from pcietune.tune.watch.batch import Concern
from pcietune.tune.watch.schedule import Schedule

BOUND = DeviceEvent(PciAddress.parse("0000:24:00.0"), Action.BIND)
ALL = Concern(whole=True)


def looked(schedule: Schedule, now: float, *, again: bool = False) -> None:
    schedule.looked(now, whole=True, again=again, paused_until=None)


def begun() -> Schedule:
    """Return a schedule whose first look was at 0."""
    schedule = Schedule(300, 0)
    looked(schedule, 0)
    return schedule


def test_the_first_look_is_at_once_and_at_everything() -> None:
    assert Schedule(300, 0).sleep_s(0) == 0
    assert Schedule(300, 0).concern(0) == ALL


def test_the_next_is_due_an_interval_later() -> None:
    schedule = begun()

    assert schedule.sleep_s(0) == 300
    assert schedule.concern(299.9) is None
    assert schedule.concern(300) == ALL


def test_events_that_settled_are_looked_at_before() -> None:
    schedule = begun()
    schedule.hear(Heard((BOUND,)), 10)

    assert schedule.sleep_s(10) == 1
    assert schedule.concern(10.5) is None
    assert schedule.concern(11) == Concern((BOUND,))


def test_a_look_at_everything_takes_unsettled_events_along() -> None:
    schedule = begun()
    schedule.hear(Heard((BOUND,)), 299.5)

    assert schedule.concern(300) == Concern((BOUND,), whole=True)


def test_what_could_not_be_read_is_looked_at_again_soon_and_then_ever_more_seldom() -> None:
    schedule, now, waits = begun(), 0.0, []
    for _ in range(9):
        looked(schedule, now, again=True)
        waits.append(schedule.sleep_s(now))
        now += waits[-1]
        assert schedule.concern(now) == ALL

    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_once_it_can_be_read_the_next_trouble_is_looked_at_soon_again() -> None:
    schedule = begun()
    looked(schedule, 0, again=True)
    looked(schedule, 5, again=True)
    looked(schedule, 15)

    looked(schedule, 315, again=True)

    assert schedule.sleep_s(315) == 5


def test_the_end_of_a_pause_is_a_time_to_look() -> None:
    schedule = begun()

    schedule.looked(10, whole=False, again=False, paused_until=70)

    assert schedule.sleep_s(10) == 60


def test_what_others_hold_is_checked_every_two_seconds_only_while_something_waits() -> None:
    schedule = begun()
    assert not schedule.check_is_due(100)

    schedule.waits = True

    assert schedule.sleep_s(1) == 1
    assert schedule.check_is_due(2)
    assert not schedule.check_is_due(3.9)
    assert schedule.check_is_due(4)
