"""Which board with NVSwitches a host has, by the PCI ids of its GPUs and NVSwitches.

Ids are of pci.ids. NVSwitches are told by vendor and class, which is compared whole: class 0680 is
neither a host bridge (0600) nor a port (0604), and ids of NVSwitches differ between guides.
"""

from collections.abc import Collection, Iterable

from pcietune.guest.nvswitch.board import Board, Generation, board_named
from pcietune.model.function import PciFunction
from pcietune.tune.match.survey import is_gpu
from pcietune.tune.paths.nvlink import NVIDIA, is_nvswitch

_GPUS = {
    "a100": (0x20B0, 0x20B2),
    "a800": (0x20BD, 0x20F3),
    "hopper": (0x2330, 0x2336, 0x2339, 0x2335, 0x2328, 0x2329, 0x232C),
    "h800": (0x2324,),
    "blackwell": (0x2901, 0x2909, 0x3182),
}
_ONE_BOARD = (8, 6)  # GPUs and NVSwitches of Ampere; two boards have twice as many


def board_of(functions: Collection[PciFunction]) -> Board | None:
    """Return the board that a host's functions are of; None if it has none, or one not known.

    B200's and B300's NVSwitches are no PCI functions, so that the GPUs tell alone; of others both
    must be there.
    """
    gpus = [function for function in functions if function.vendor == NVIDIA and is_gpu(function)]
    switches = sum(map(is_nvswitch, functions))
    names = {name for gpu in gpus for name, ids in _GPUS.items() if gpu.device in ids}
    if len(names) != 1:
        return None
    board = board_named(names.pop())
    if board.generation is Generation.BLACKWELL:
        return board
    if not switches:
        return None
    most_gpus, most_switches = _ONE_BOARD
    if board.generation is Generation.AMPERE and (
        _count(gpus, board.name) > most_gpus or switches > most_switches
    ):
        return board_named(f"{board.name}-two")
    return board


def nvswitches(functions: Iterable[PciFunction]) -> tuple[PciFunction, ...]:
    """Return the NVSwitches among functions, in order; none of B200 and later is one."""
    return tuple(function for function in functions if is_nvswitch(function))


def _count(gpus: Iterable[PciFunction], name: str) -> int:
    """Return how many GPUs of a board there are: VFs have the id of their PF, on its bus."""
    addresses = [gpu.address for gpu in gpus if gpu.device in _GPUS[name]]
    return len({(address.domain, address.bus) for address in addresses})
