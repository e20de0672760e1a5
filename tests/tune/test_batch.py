from hypothesis import given
from hypothesis import strategies as st

from pcietune.address import PciAddress
from pcietune.model.device_event import Action, DeviceEvent, Heard
from pcietune.tune.watch.batch import Batch, Concern

NIC = PciAddress.parse("0000:24:00.0")
BOUND = DeviceEvent(NIC, Action.BIND)
REMOVED = DeviceEvent(NIC, Action.REMOVE)


def test_it_is_taken_once_no_event_came_for_a_second() -> None:
    batch = Batch()
    assert batch.due is None

    batch.add(Heard((BOUND,)), 10.0)
    batch.add(Heard((BOUND,)), 10.5)

    assert batch.due == 11.5


def test_a_stream_of_events_puts_it_off_for_five_seconds_and_no_more() -> None:
    batch = Batch()

    for tenth in range(1000):
        batch.add(Heard((BOUND,)), 10 + tenth / 10)

    assert batch.due == 15.0


def test_what_happened_twice_is_told_once_and_in_order() -> None:
    batch = Batch()
    batch.add(Heard((BOUND, REMOVED, BOUND)), 0.0)

    assert batch.take() == Concern((BOUND, REMOVED), whole=True)
    assert batch.due is None


def test_a_bind_does_not_change_the_fabric() -> None:
    batch = Batch()
    batch.add(Heard((BOUND,)), 0.0)

    assert batch.take() == Concern((BOUND,), whole=False)


def test_after_lost_events_everything_is_concerned() -> None:
    batch = Batch()
    batch.add(Heard(lost=True), 0.0)

    assert batch.take() == Concern((), whole=True)


@given(st.integers(0, 30_000))
def test_its_size_is_bounded_and_nothing_is_forgotten(count: int) -> None:
    batch = Batch()
    events = [
        DeviceEvent(PciAddress(0, n >> 8 & 0xFF, n >> 3 & 0x1F, n & 7), action)
        for n, action in zip(range(count), list(Action) * count, strict=False)
    ]
    for event in events:
        batch.add(Heard((event,)), 0.0)

    concern = batch.take()

    assert len(concern.events) <= 4096
    assert concern.whole or set(concern.events) == set(events)
