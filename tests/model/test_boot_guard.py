import pytest

from pcietune.model.boot_guard import guard_of

THIS = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
ONE = "8f5e4d3c-1111-4222-8333-444455556666"
OTHER = "0a1b2c3d-7777-4888-9999-aaaabbbbcccc"


def lines(*boots: str) -> str:
    return "".join(f"{boot}\n" for boot in boots)


@pytest.mark.parametrize(
    ("attempts", "failed"),
    [
        (lines(THIS), 0),
        (lines(ONE, THIS), 1),
        (lines(ONE, OTHER, THIS), 2),
        (lines(ONE, THIS, THIS), 1),
        (lines(ONE, "\0\0\0\0", THIS), 2),
        (f"{ONE}\n8f5e\n\n{THIS}", 2),
    ],
    ids=["first", "second", "third", "noted-twice", "torn-by-a-crash", "cut-off"],
)
def test_every_noted_boot_but_this_one_has_failed(attempts: str, failed: int) -> None:
    assert guard_of(attempts, THIS).failed_boots == failed


@pytest.mark.parametrize(
    ("attempts", "boot_id"),
    [(None, THIS), ("", THIS), (lines(ONE, OTHER), THIS), (lines(ONE, OTHER, THIS), None)],
    ids=["no-list", "empty", "this-boot-is-not-in-it", "boot-not-known"],
)
def test_where_this_boot_was_not_noted_nothing_is_known(
    attempts: str | None, boot_id: str | None
) -> None:
    guard = guard_of(attempts, boot_id)

    assert guard.failed_boots is None
    assert guard.why_held is None


def test_a_second_boot_is_not_held_back() -> None:
    assert guard_of(lines(ONE, THIS), THIS).why_held is None


def test_a_third_boot_is_held_back_and_told_why() -> None:
    assert guard_of(lines(ONE, OTHER, THIS), THIS).why_held == (
        "the last 2 boots never reached multi-user.target: nothing is written unattended in this "
        "one"
    )
