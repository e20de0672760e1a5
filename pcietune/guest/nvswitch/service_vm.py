"""What a service VM is given, in which Fabric Manager runs for all other VMs of its host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcietune.guest.nvswitch.board import Board, Generation
from pcietune.guest.nvswitch.notes import Note


@dataclass(frozen=True, slots=True)
class ServiceVm:
    """What it is given by VFIO.

    Attributes:
        always: Addresses of functions that it has as long as it runs.
        at_start: Addresses of those that it has until Fabric Manager has begun.
        notes: What else it needs.
    """

    always: tuple[str, ...]
    at_start: tuple[str, ...]
    notes: tuple[Note, ...]


def service_vm(board: Board, switches: Sequence[str], gpus: Sequence[str]) -> ServiceVm:
    """Return what the service VM of a host is given.

    Args:
        board: The host's.
        switches: Addresses of its NVSwitches.
        gpus: Addresses of all its GPUs; empty if they are not known here.
    """
    ampere = board.generation is Generation.AMPERE
    at_start = tuple(gpus) if ampere else ()
    return ServiceVm(tuple(switches), at_start, tuple(_notes(board, switches)))


def _notes(board: Board, switches: Sequence[str]) -> Iterator[Note]:
    if board.generation is Generation.BLACKWELL:
        yield Note(
            "it has the four functions of the board's ConnectX-7 instead of NVSwitches, whose VPD "
            "says SMDL=SW_MNG (lspci -d 15b3: -vv), and nvlsm beside Fabric Manager"
        )
    elif not switches:
        yield Note("it has all NVSwitches, of which this host shows none here")
    if board.generation is Generation.AMPERE:
        yield Note(
            "it has all GPUs, too, until Fabric Manager has begun, which trains their links; they "
            "go to the tenants' VMs afterwards",
            inference=True,
        )
    yield Note("it is given no GPU of a tenant's, and no tenant an NVSwitch")
    yield Note(
        "whoever reaches Fabric Manager's port, TCP 6666, may activate partitions: no tenant does",
        inference=True,
    )
