"""Which partitions are free, as a list of all."""

from pcietune.guest.nvswitch.board import board_named
from pcietune.guest.nvswitch.listing import Listing, State, list_partitions


def _listing(board: str, *active: int, switches: tuple[str, ...] | None = None) -> Listing:
    return list_partitions(
        board_named(board), active, addresses={}, switches=switches, gpus=("0000:23:00.0",)
    )


def test_what_an_active_partition_has_gpus_of_is_taken_by_it() -> None:
    rows = {row.partition.number: row for row in _listing("hopper", 3, 6).rows}

    assert [n for n, row in rows.items() if row.state is State.ACTIVE] == [3, 6]
    assert [n for n, row in rows.items() if row.state is State.FREE] == [4, 5, 8, 10, 11, 13]
    assert rows[0].by == (3, 6)
    assert (rows[1].by, rows[2].by, rows[7].by) == ((3,), (6,), (3,))
    assert rows[4].by == ()


def test_where_nobody_told_what_is_active_none_is_called_free() -> None:
    found = list_partitions(
        board_named("hopper"), None, addresses={}, switches=None, gpus=("0000:23:00.0",)
    )

    assert {row.state for row in found.rows} == {State.NOT_KNOWN}
    assert "fmpm -l" in found.notes[0].text
    assert all("fmpm -l |" not in note.text for note in _listing("hopper").notes)


def test_of_ampere_the_service_vm_has_gpus_until_fabric_manager_has_begun() -> None:
    for board, at_start in (("a800", ("0000:23:00.0",)), ("hopper", ())):
        service = _listing(board, switches=("0000:07:00.0",)).service

        assert service is not None
        assert (service.always, service.at_start) == (("0000:07:00.0",), at_start)


def test_nvswitches_that_are_not_to_be_seen_are_missed_but_of_blackwell() -> None:
    hopper = _listing("hopper", switches=()).service
    blackwell = _listing("blackwell", switches=()).service

    assert hopper is not None
    assert blackwell is not None
    assert "shows none" in str(hopper.notes[0])
    assert "ConnectX-7" in str(blackwell.notes[0])
    assert not any("shows none" in str(note) for note in blackwell.notes)


def test_without_a_host_there_is_no_service_vm() -> None:
    assert _listing("hopper").service is None


def _notes(board: str) -> str:
    return " ".join(str(note) for note in _listing(board).notes)


def test_what_sets_blackwell_apart_is_told() -> None:
    told = _notes("blackwell")

    assert "ids begin at 1" in told
    assert "no PCI functions" in told
    assert "nvlsm" in told
    assert "reset once" in told


def test_what_fabric_manager_leaves_out_is_told_of_ampere_alone() -> None:
    assert "--list-unsupported-partitions" in _notes("a100")
    assert "whatever failed" in _notes("hopper")
    for board in ("hopper", "blackwell"):
        assert "--list-unsupported-partitions" not in _notes(board)
