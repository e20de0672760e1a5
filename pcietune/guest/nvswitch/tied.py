"""Whether NVLink ties two GPUs of a VM: by their partition, or by a board that the VM has whole."""

from dataclasses import dataclass

from pcietune.guest.kinds import Kind, NvSwitchModel
from pcietune.guest.nvswitch.board import Board, board_named
from pcietune.guest.nvswitch.partition import partition_numbered
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction
from pcietune.tune.paths.nvlink import links_between

LEARN_MODULES = (
    "which modules the GPUs are, which no address tells: nvidia-smi -q says Module ID while "
    "NVIDIA's own driver has them, and pcietune record --nvidia keeps it"
)
_UP = "whether NVLink is up, and not off by MIG: nvidia-smi nvlink -s in the VM"


@dataclass(frozen=True, slots=True)
class Tied:
    """What a board's NVLinks are to two GPUs of a VM.

    Attributes:
        holds: Whether they are tied, as far as a plan can tell.
        bandwidth: Its class, in words.
        why: On what it stands, or why they are not tied.
        not_known: What it depends on and a plan cannot tell, each with what tells it.
    """

    holds: bool
    bandwidth: str
    why: str
    not_known: tuple[str, ...] = ()


def tied_by_nvlink(plan: Plan, one: PciFunction, other: PciFunction) -> Tied | None:
    """Return what the NVLinks of the plan's board are to two GPUs of its VM; None without a board.

    Raises:
        BadInputError: The plan names a board, or a partition of it, that is not known.
    """
    part = plan.nvswitch
    if part.board is None:
        return None
    board = board_named(part.board)
    if part.model is NvSwitchModel.NONE:
        return Tied(holds=False, bandwidth="", why="this VM does without")
    if part.model is NvSwitchModel.FULL:
        return _whole(plan, board, one, other)
    if part.partition is None:
        why = "only where a partition has both, and the plan knows of none"
        return Tied(holds=False, bandwidth="", why=why, not_known=(LEARN_MODULES,))
    partition = partition_numbered(board.partitions, part.partition)
    not_known = (
        f"whether {partition} is active before the VM's driver loads: fmpm -l",
        _UP,
    )
    why = f"{partition} has both"
    return Tied(
        holds=True,
        bandwidth=_bandwidth(board, partition.links, one, other),
        why=why,
        not_known=not_known,
    )


def _whole(plan: Plan, board: Board, one: PciFunction, other: PciFunction) -> Tied:
    """Return what NVSwitches that the VM itself has are to two of its GPUs."""
    gpus, switches = (
        sum(each.kind is kind for each in plan.functions) for kind in (Kind.GPU, Kind.NVSWITCH)
    )
    shape = next((each for each in board.shapes if each.gpus == gpus), None)
    if shape is None or shape.switches != switches:
        why = f"{gpus} GPUs and {switches} NVSwitches are nothing that a VM can be given whole"
        return Tied(holds=False, bandwidth="", why=why)
    return Tied(
        holds=True,
        bandwidth=_bandwidth(board, shape.links, one, other),
        why="the VM has the NVSwitches itself",
        not_known=("whether Fabric Manager runs in the VM: nvidia-smi -q -i 0, Fabric", _UP),
    )


def _bandwidth(board: Board, links: int | None, one: PciFunction, other: PciFunction) -> str:
    """Return the bandwidth of as many of a GPU's NVLinks, in words."""
    whole = links_between(one, other, nvswitches=True).bandwidth
    most = max(partition.links for partition in board.partitions)
    if whole is None or links is None:
        return "that of their NVLinks, which is not known"
    return f"{whole * links // most} GB/s of a GPU's {links} NVLinks, both directions (data sheet)"
