"""The partitions of a board, and which of them are free beside those that are active."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.guest.nvswitch.board import Board
from pcietune.guest.nvswitch.notes import Note, board_notes
from pcietune.guest.nvswitch.partition import Partition, conflicts, partition_numbered
from pcietune.guest.nvswitch.service_vm import ServiceVm, service_vm

_WHICH_ARE_ACTIVE = Note(
    "which partitions are active is not known: fmpm -l | pcietune guest nvswitch --fmpm -"
)


class State(StrEnum):
    """What a partition can be used for now."""

    ACTIVE = "active"
    FREE = "free"
    TAKEN = "taken"  # an active one has GPUs of it
    NOT_KNOWN = "not known"  # which are active was not told


@dataclass(frozen=True, slots=True)
class Row:
    """A partition.

    Attributes:
        partition: It.
        state: What it can be used for now.
        by: Ids of the active partitions that have GPUs of it; empty unless it is taken.
    """

    partition: Partition
    state: State
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A board and its partitions.

    Attributes:
        board: It.
        rows: Its partitions, by their ids.
        addresses: Of its GPUs by module, as far as that is known.
        service: What a service VM would be given; None where no host was looked at.
        notes: What else to know of the board.
    """

    board: Board
    rows: tuple[Row, ...]
    addresses: Mapping[int, str]
    service: ServiceVm | None
    notes: tuple[Note, ...]


def list_partitions(
    board: Board,
    active: Collection[int] | None,
    *,
    addresses: Mapping[int, str],
    switches: Sequence[str] | None,
    gpus: Sequence[str],
) -> Listing:
    """Return the partitions of a board.

    Args:
        board: It.
        active: Ids of those that are active now; None if that is not known.
        addresses: Of GPUs by module, as far as that is known.
        switches: Addresses of the host's NVSwitches; None where no host was looked at.
        gpus: Addresses of all its GPUs.

    Raises:
        BadInputError: The board has no partition of an id.
    """
    for number in active or ():
        partition_numbered(board.partitions, number)
    rows = tuple(_row(board, partition, active) for partition in board.partitions)
    service = None if switches is None else service_vm(board, switches, gpus)
    unknown = (_WHICH_ARE_ACTIVE,) if active is None else ()
    return Listing(board, rows, addresses, service, (*unknown, *board_notes(board)))


def _row(board: Board, partition: Partition, active: Collection[int] | None) -> Row:
    if active is None:
        return Row(partition, State.NOT_KNOWN, ())
    if partition.number in active:
        return Row(partition, State.ACTIVE, ())
    by = tuple(each.number for each in conflicts(board.partitions, partition, active))
    return Row(partition, State.TAKEN if by else State.FREE, by)
