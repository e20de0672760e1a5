"""The order of steps where Fabric Manager activates partitions: in a service VM, or on the host.

After the Fabric Manager User Guide (shared NVSwitch virtualization model, resiliency) and the
source of fmpm (NVIDIA/Fabric-Manager-Client).
"""

from collections.abc import Iterable, Iterator

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, Generation
from pcietune.guest.nvswitch.fabric_manager import CONFIG_FILE, IS_ACTIVE, Reach
from pcietune.guest.nvswitch.notes import reset_note, training_note
from pcietune.guest.nvswitch.partition import Partition, Table
from pcietune.guest.nvswitch.step import Step, Where, resets

_FABRIC = "nvidia-smi -q -i 0 | grep -i -A 2 fabric"
_LINKS = "nvidia-smi nvlink -s"


def steps_before(
    model: NvSwitchModel,
    board: Board,
    partition: Partition | None,
    in_the_way: Table | None,
    reach: Reach,
) -> Iterator[Step]:
    """Yield what is done until a VM's driver has its GPUs.

    Args:
        model: SHARED or HOST.
        board: The host's.
        partition: Of the VM's GPUs; None if not known.
        in_the_way: Active partitions that share GPUs with it, itself included; None if it is not
            known which are active.
        reach: How fmpm reaches Fabric Manager.
    """
    fmpm_runs = reach.where(model)
    yield from _fabric_manager_runs(model, board)
    yield Step(
        fmpm_runs,
        "see which partitions are active, isActive 1"
        + (_may_be_in_the_way(board, partition) if in_the_way is None else ""),
        (reach.fmpm("-l"),),
    )
    for other in in_the_way or ():
        shares = "already" if other == partition else "and shares GPUs"
        yield Step(
            fmpm_runs,
            f"{other} is active {shares}: once its VM has stopped and its GPUs are reset, "
            "deactivate it; until then activating fails (FM_ST_IN_USE, -7)",
            (reach.fmpm("-d", str(other.number)),),
        )
    yield _activate(fmpm_runs, partition, reach)
    yield Step(Where.HOST, "start the VM")
    yield Step(
        Where.VM,
        "the driver is of Fabric Manager's version, and no Fabric Manager runs here",
        ("cat /sys/module/nvidia/version",),
    )
    if board.generation is not Generation.AMPERE:
        yield Step(
            Where.VM, "the GPUs have joined the fabric: State Completed, Status Success", (_FABRIC,)
        )
    yield Step(Where.VM, _links_text(partition), (_LINKS,))
    if board.generation is Generation.AMPERE:
        note = reset_note()
        yield Step(Where.VM, note.text, inference=note.inference)


def steps_after(
    model: NvSwitchModel, partition: Partition | None, gpus: Iterable[str], reach: Reach
) -> Iterator[Step]:
    """Yield what is done once a VM is to end.

    Args:
        model: SHARED or HOST.
        partition: Of the VM's GPUs; None if not known.
        gpus: Their addresses on the host.
        reach: How fmpm reaches Fabric Manager.
    """
    fmpm_runs = reach.where(model)
    yield Step(Where.HOST, "stop the VM first: no partition is deactivated under a VM that runs")
    yield Step(Where.HOST, "reset its GPUs", resets(gpus))
    if partition is None:
        yield Step(fmpm_runs, "deactivate its partition")
    else:
        yield Step(fmpm_runs, f"deactivate {partition}", (reach.fmpm("-d", str(partition.number)),))
    yield Step(fmpm_runs, "see that it is not active, isActive 0", (reach.fmpm("-l"),))


def steps_at_restart(
    model: NvSwitchModel, partition: Partition | None, others: Iterable[int] | None, reach: Reach
) -> Iterator[Step]:
    """Yield what is done where Fabric Manager ended while VMs run, whose NVLink goes on.

    The list that it wants is given by no command line here: fmpm 1.0.1 never counts the ids that
    it reads (``parsePartitionIdlistString`` in fmpm.cpp), so that it sends an empty list.

    Args:
        model: SHARED or HOST.
        partition: Of the VM's GPUs; None if not known.
        others: Ids of the other VMs' active partitions; None if not known.
        reach: How fmpm reaches Fabric Manager.
    """
    runs = Where.SERVICE_VM if model is NvSwitchModel.SHARED else Where.HOST
    yield Step(
        runs,
        f"start Fabric Manager again, of the same version, with FABRIC_MODE_RESTART=1 in "
        f"{CONFIG_FILE}: it takes up its state file (STATE_FILE_NAME), and answers nothing until "
        "it has the list",
        ("systemctl start nvidia-fabricmanager",),
    )
    yield Step(
        reach.where(model),
        f"within 60 seconds, or it ends, tell it all active partitions, also if there is none, by "
        f"fmSetActivatedFabricPartitions: {_all_active(partition, others)}; it takes NVLink from "
        "those that are not told. Not by fmpm 1.0.1, whose --set-activated-list sends an empty list"
        " whatever it is given: by NVIDIA/go-nvfm, or a program of your own",
    )
    yield Step(
        reach.where(model), "see that all of them are active, isActive 1", (reach.fmpm("-l"),)
    )


def _all_active(partition: Partition | None, others: Iterable[int] | None) -> str:
    ours = "this VM's" if partition is None else f"{partition.number} of this VM"
    if others is None:
        return f"{ours}, and those of all other VMs, of which --fmpm or --active tells"
    told = ", ".join(str(number) for number in sorted(set(others)))
    return f"{ours}, and {told} of others" if told else f"{ours} alone"


def _fabric_manager_runs(model: NvSwitchModel, board: Board) -> Iterator[Step]:
    if board.generation is Generation.AMPERE:
        note = training_note(model)
        yield Step(Where.HOST, note.text, inference=note.inference)
    runs = Where.SERVICE_VM if model is NvSwitchModel.SHARED else Where.HOST
    nvlsm = ", and nvlsm beside it" if board.generation is Generation.BLACKWELL else ""
    yield Step(
        runs,
        f"Fabric Manager runs{nvlsm}, of the version of the driver in the VM",
        (IS_ACTIVE, "nv-fabricmanager --version"),
    )


def _may_be_in_the_way(board: Board, partition: Partition | None) -> str:
    if partition is None:
        return ""
    sharing = (each for each in board.partitions if each.overlaps(partition))
    numbers = ", ".join(str(each.number) for each in sharing)
    return (
        f"; each of {numbers} has GPUs of it: one that is active is deactivated first, once its VM"
        " has stopped, or activating fails (FM_ST_IN_USE, -7)"
    )


def _activate(where: Where, partition: Partition | None, reach: Reach) -> Step:
    if partition is None:
        return Step(where, "activate the partition of just these GPUs, once it is known")
    alone = "" if partition.links else ", without NVLink: of one GPU alone it has none"
    return Step(where, f"activate {partition}{alone}", (reach.fmpm("-a", str(partition.number)),))


def _links_text(partition: Partition | None) -> str:
    if partition is None:
        return "the NVLinks are up, if it has several GPUs"
    if not partition.links:
        return "no NVLink is up"
    return f"{partition.links} NVLinks of each GPU are up"
