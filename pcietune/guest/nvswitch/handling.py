"""All that is to be known of the NVSwitches around the life of a planned VM."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Kind, NvSwitchModel
from pcietune.guest.nvswitch import by_partition, whole
from pcietune.guest.nvswitch.board import Board, Shape, board_named
from pcietune.guest.nvswitch.fabric_manager import Reach, config_lines
from pcietune.guest.nvswitch.notes import Note, mig_note
from pcietune.guest.nvswitch.partition import (
    Partition,
    Table,
    conflicts,
    modules_text,
    nearest_partitions,
    partition_numbered,
    partition_of,
)
from pcietune.guest.nvswitch.service_vm import ServiceVm, service_vm
from pcietune.guest.nvswitch.step import Step
from pcietune.guest.nvswitch.tied import LEARN_MODULES
from pcietune.guest.plan import Plan


@dataclass(frozen=True, slots=True)
class Held:
    """A GPU of the VM.

    Attributes:
        name: In the plan.
        address: On the host.
        module: None if not known.
    """

    name: str
    address: str
    module: int | None


@dataclass(frozen=True, slots=True)
class Handling:
    """What is to be done, and why.

    Attributes:
        vm: The VM's name.
        board: The host's.
        model: Who owns the NVSwitches: FULL, SHARED or HOST.
        gpus: The VM's.
        partition: Theirs; None if the VM has NVSwitches itself, or it is not known.
        in_the_way: Active partitions that have to be deactivated first; None if not known.
        service: What the service VM is given; None in other models.
        config: Lines of fabricmanager.cfg.
        before: Steps until the VM's driver has its GPUs.
        after: Steps once the VM is to end.
        restart: Steps where Fabric Manager ended while VMs run; empty where it runs in them.
        notes: What else to know.
    """

    vm: str
    board: Board
    model: NvSwitchModel
    gpus: tuple[Held, ...]
    partition: Partition | None
    in_the_way: Table | None
    service: ServiceVm | None
    config: tuple[str, ...]
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    restart: tuple[Step, ...]
    notes: tuple[Note, ...]


def handle(
    plan: Plan, active: Collection[int] | None, reach: Reach, table: Table | None = None
) -> Handling:
    """Return what is to be done around the life of a plan's VM.

    Args:
        plan: It.
        active: Ids of the partitions that are active now; None if that is not known.
        reach: How fmpm reaches Fabric Manager.
        table: The partitions that Fabric Manager itself lists; None for the guide's.

    Raises:
        BadInputError: The plan's host has no known NVSwitches, or its VM does without; or a VM
            cannot be given such NVSwitches, or there is no such partition.
    """
    board = _board(plan)
    if plan.nvswitch.model is NvSwitchModel.FULL:
        return _given_whole(plan, board, reach)
    partition = _partition(plan, board, table)
    if table is not None:
        board = replace(board, partitions=table)
    return _by_partition(plan, board, partition, active, reach)


def _partition(plan: Plan, board: Board, table: Table | None) -> Partition | None:
    """Return the partition of the VM's GPUs, by its GPUs and not by its id in another table.

    Raises:
        BadInputError: There is none of them, or the plan's has other GPUs, too.
    """
    if plan.nvswitch.partition is None:
        return None
    planned = partition_numbered(board.partitions, plan.nvswitch.partition)
    ours = [gpu.module for gpu in _held(plan)]
    if len(ours) != len(planned.modules) or planned.modules != set(ours):
        raise BadInputError(
            f"{plan.machine.name}: its GPUs are not just those of {planned}, as the plan has it",
            hint="plan it again: pcietune guest plan",
        )
    if table is None:
        return planned
    found = partition_of(table, planned.modules)
    if found is None:
        nearest = " or ".join(map(str, nearest_partitions(table, planned.modules)))
        raise BadInputError(
            f"Fabric Manager lists no partition of just {modules_text(planned.modules)}",
            hint=f"nearest: {nearest}; what it left out: fmpm --list-unsupported-partitions",
        )
    return found


def _board(plan: Plan) -> Board:
    if plan.nvswitch.board is None:
        raise BadInputError(
            f"{plan.machine.name}: the plan knows of no NVSwitches",
            hint="pcietune guest nvswitch, without a plan, tells this host's partitions",
        )
    if plan.nvswitch.model is NvSwitchModel.NONE:
        raise BadInputError(
            f"{plan.machine.name}: the plan's VM does without NVLink",
            hint="plan it again: pcietune guest plan --nvswitch shared, or host, or full",
        )
    return board_named(plan.nvswitch.board)


def _by_partition(
    plan: Plan,
    board: Board,
    partition: Partition | None,
    active: Collection[int] | None,
    reach: Reach,
) -> Handling:
    part, table = plan.nvswitch, board.partitions
    for number in active or ():
        partition_numbered(table, number)
    in_the_way = None
    if partition is not None and active is not None:
        in_the_way = conflicts(table, partition, active)
    held = _held(plan)
    shared = part.model is NvSwitchModel.SHARED
    ended = {each.number for each in in_the_way or ()}
    others = None if active is None else [each for each in active if each not in ended]
    notes = [mig_note(board)]
    if partition is None:
        notes.insert(0, Note(f"not known: {LEARN_MODULES}"))
    return Handling(
        vm=plan.machine.name,
        board=board,
        model=part.model,
        gpus=held,
        partition=partition,
        in_the_way=in_the_way,
        service=service_vm(board, part.switches, ()) if shared else None,
        config=tuple(config_lines(part.model, reach)),
        before=tuple(by_partition.steps_before(part.model, board, partition, in_the_way, reach)),
        after=tuple(
            by_partition.steps_after(part.model, partition, [gpu.address for gpu in held], reach)
        ),
        restart=tuple(by_partition.steps_at_restart(part.model, partition, others, reach)),
        notes=tuple(notes),
    )


def _given_whole(plan: Plan, board: Board, reach: Reach) -> Handling:
    held = _held(plan)
    shape = _shape(board, len(held), [f for f in plan.functions if f.kind is Kind.NVSWITCH])
    functions = [each.address for each in plan.functions if each.kind in (Kind.GPU, Kind.NVSWITCH)]
    alone = shape.gpus == 1
    return Handling(
        vm=plan.machine.name,
        board=board,
        model=NvSwitchModel.FULL,
        gpus=held,
        partition=None,
        in_the_way=(),
        service=None,
        config=() if alone else tuple(config_lines(NvSwitchModel.FULL, reach)),
        before=tuple(whole.steps_before(board, shape, functions)),
        after=tuple(whole.steps_after(functions)),
        restart=(),
        notes=(*whole.notes(board, shape), mig_note(board)),
    )


def _shape(board: Board, gpus: int, switches: Collection[object]) -> Shape:
    """Return what the VM is given.

    Raises:
        BadInputError: No VM is given that.
    """
    shape = next((each for each in board.shapes if each.gpus == gpus), None)
    if shape is None:
        sizes = ", ".join(str(each.gpus) for each in reversed(board.shapes))
        raise BadInputError(
            f"{gpus} GPUs: no VM is given so many with NVSwitches of their own on {board.title}",
            hint=f"with model full a VM has {sizes} GPUs; models shared and host have partitions",
        )
    if shape.switches != len(switches):
        raise BadInputError(
            f"{gpus} GPUs and {len(switches)} NVSwitches: with {gpus} GPUs a VM has "
            f"{shape.switches} NVSwitches on {board.title}",
            hint="plan it again, or name the functions: pcietune guest plan",
        )
    return shape


def _held(plan: Plan) -> tuple[Held, ...]:
    modules = plan.nvswitch.modules
    return tuple(
        Held(each.name, each.address, modules.get(each.name))
        for each in plan.functions
        if each.kind is Kind.GPU
    )
