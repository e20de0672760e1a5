from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pcietune.tune.watch.back_off import BackOff

DIRECT = ("20:01.0/00.0/04.0", "port.nic-side.DirectTrans")
OTHER = ("20:01.0/00.0/04.0", "port.nic-side.ReqRedir")
HOUR_S = 3600.0


def repaired(back_off: BackOff, *times: float) -> list[float | None]:
    """Repair at these times, as far as that may be; return the pauses that begin."""
    return [back_off.repaired(DIRECT, t) for t in times if back_off.may_repair(DIRECT, t)]


def test_two_repairs_within_ten_minutes_are_nothing_to_speak_of() -> None:
    assert repaired(BackOff(), 0, 1) == [None, None]


def test_three_within_ten_minutes_are_followed_by_a_minute_s_pause() -> None:
    back_off = BackOff()

    assert repaired(back_off, 0, 1, 600) == [None, None, 60]
    assert not back_off.may_repair(DIRECT, 659)
    assert back_off.may_repair(DIRECT, 660)


def test_three_within_more_than_ten_minutes_are_not() -> None:
    assert repaired(BackOff(), 0, 300, 601) == [None, None, None]


def test_each_further_repair_doubles_the_pause_up_to_an_hour() -> None:
    back_off, now, pauses = BackOff(), 0.0, []
    for _ in range(12):
        assert back_off.may_repair(DIRECT, now)
        pause = back_off.repaired(DIRECT, now)
        pauses.append(pause)
        now += pause or 1

    assert pauses == [None, None, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600]


def test_a_quiet_hour_ends_it() -> None:
    back_off = BackOff()
    repaired(back_off, 0, 1, 2, 62, 182)

    assert back_off.may_repair(DIRECT, 182 + HOUR_S + 1)
    assert repaired(back_off, 182 + HOUR_S + 2) == [None]


def test_an_hour_in_which_it_was_wrong_was_not_quiet() -> None:
    back_off = BackOff()
    repaired(back_off, 0, 1, 2, 62, 182)

    back_off.may_repair(DIRECT, 300)

    assert repaired(back_off, 182 + HOUR_S + 2) == [480]


def test_one_fact_s_trouble_is_not_another_s() -> None:
    back_off = BackOff()
    repaired(back_off, 0, 1, 2)

    assert back_off.may_repair(OTHER, 3)


def test_the_end_of_the_first_pause_is_known() -> None:
    back_off = BackOff()
    repaired(back_off, 0, 1, 2)

    assert back_off.next_end([DIRECT, OTHER], 3) == 62
    assert back_off.next_end([OTHER], 3) is None
    assert back_off.next_end([DIRECT], 62) is None


def test_what_is_gone_from_the_host_is_forgotten() -> None:
    back_off = BackOff()
    repaired(back_off, 0, 1, 2)

    back_off.keep([OTHER])

    assert back_off.may_repair(DIRECT, 3)


@given(st.lists(st.floats(0.01, 900), max_size=200))
def test_whatever_undoes_it_and_when_it_is_repaired_a_dozen_times_an_hour_at_most(
    waits: list[float],
) -> None:
    back_off, now, done = BackOff(), 0.0, []
    for wait in waits:
        now += wait
        if back_off.may_repair(DIRECT, now):
            back_off.repaired(DIRECT, now)
            done.append(now)

    assert all(sum(t <= later < t + HOUR_S for later in done) <= 13 for t in done)
    assert all(
        fourth - third >= 60 or third - first > 600
        for first, third, fourth in zip(done, done[2:], done[3:], strict=False)
    )
    assert all(later > earlier for earlier, later in pairwise(done))
