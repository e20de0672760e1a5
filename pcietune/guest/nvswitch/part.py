"""The part of the NVSwitches in a plan: whose they are, and which partition the VM's GPUs are."""

from collections.abc import Iterator, Mapping, Sequence

from pcietune.errors import BadInputError
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, Generation, board_with_modules
from pcietune.guest.nvswitch.notes import mig_note, reset_note, training_note
from pcietune.guest.nvswitch.partition import partition_for
from pcietune.guest.nvswitch.tied import LEARN_MODULES
from pcietune.guest.plan import NvSwitchPlan

_NOBODY_SAID = (
    "nobody said who owns the NVSwitches, so that NVLink is not counted on: pcietune guest plan "
    "--nvswitch says it"
)


def nvswitch_part(
    board: Board | None,
    model: NvSwitchModel | None,
    switches: Sequence[str],
    gpus: Mapping[str, int | None],
) -> NvSwitchPlan:
    """Return the part of the NVSwitches in a plan.

    Args:
        board: The host's; None if it has none that is known.
        model: Who owns the NVSwitches; None if nobody said.
        switches: Addresses of the host's NVSwitches.
        gpus: The VM's, by name, each with its module; None where that is not known.

    Raises:
        BadInputError: No partition holds just these GPUs, or no VM can be given them with
            NVSwitches; or a model is wanted where there is no board, or a module that it has not.
    """
    if board is None:
        if model not in (None, NvSwitchModel.NONE):
            raise BadInputError(
                f"model {model}: this host has no NVSwitches that pcietune knows",
                hint="leave --nvswitch out",
            )
        return _part(NvSwitchModel.NONE, None, switches, notes=())
    if model in (None, NvSwitchModel.NONE):
        notes = [_NOBODY_SAID] if model is None else []
        return _part(NvSwitchModel.NONE, board, switches, notes=notes)
    if model is NvSwitchModel.FULL:
        check_shape(board, len(gpus))
    modules = {name: module for name, module in gpus.items() if module is not None}
    board = board_with_modules(board, modules.values())
    partition = None
    if model is not NvSwitchModel.FULL and len(modules) == len(gpus):
        partition = _partition(board, modules)
    notes = list(_notes(model, board, known=partition is not None))
    return _part(model, board, switches, partition=partition, modules=modules, notes=notes)


def check_shape(board: Board, gpus: int) -> None:
    """Return if a VM can be given as many GPUs with NVSwitches of their own.

    Raises:
        BadInputError: It cannot.
    """
    if all(shape.gpus != gpus for shape in board.shapes):
        sizes = ", ".join(str(shape.gpus) for shape in reversed(board.shapes))
        raise BadInputError(
            f"{gpus} GPUs: no VM is given so many with NVSwitches of their own on {board.title}",
            hint=f"with model full a VM has {sizes} GPUs; models shared and host have partitions",
        )


def _partition(board: Board, modules: Mapping[str, int]) -> int:
    held = list(modules.values())
    twice = sorted({module for module in held if held.count(module) > 1})
    if twice:
        raise BadInputError(
            f"module {twice[0]} is said of two GPUs",
            hint="each GPU of a board has a module of its own: nvidia-smi -q, Module ID",
        )
    return partition_for(board.partitions, held).number


def _notes(model: NvSwitchModel, board: Board, *, known: bool) -> Iterator[str]:
    if model is not NvSwitchModel.FULL and not known:
        yield f"not known: {LEARN_MODULES}"
    if board.generation is Generation.AMPERE and model is not NvSwitchModel.FULL:
        yield str(training_note(model))
        yield str(reset_note())
    yield str(mig_note(board))


def _part(  # noqa: PLR0913 -- one parameter per key
    model: NvSwitchModel,
    board: Board | None,
    switches: Sequence[str],
    *,
    partition: int | None = None,
    modules: Mapping[str, int] | None = None,
    notes: Sequence[str],
) -> NvSwitchPlan:
    return NvSwitchPlan(
        model=model,
        board=None if board is None else board.name,
        switches=list(switches),
        partition=partition,
        modules=dict(modules or {}),
        notes=list(notes),
    )
