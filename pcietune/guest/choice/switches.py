"""The NVSwitches' part of a choice: the partition of its GPUs, and what goes along with them."""

from pcietune.errors import BadInputError
from pcietune.guest.choice.candidates import Gpus
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.choice.told import by_reason, counted, named
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.partition import Partition, Table, nearest_partitions, partition_of
from pcietune.guest.stock.offer import Offer, Stock


def partition_held(stock: Stock, gpus: Gpus, partitions: Table) -> Partition | None:
    """Return the partition of just these GPUs; None if no partition binds anybody.

    Raises:
        BadInputError: There is none; the message has the nearest.
    """
    if not partitions or not gpus:
        return None
    modules = [stock.modules[gpu.address] for gpu in gpus]
    held = partition_of(partitions, modules)
    if held is not None:
        return held
    of_module = {stock.modules[gpu.address]: gpu for gpu in stock.gpus}
    nearest = [
        f"{each}: {named(of_module[module] for module in sorted(each.modules))}"
        for each in nearest_partitions(partitions, modules)
        if each.modules <= of_module.keys()
    ]
    raise BadInputError(
        f"no partition of the NVSwitches holds just {named(gpus)}",
        hint=f"nearest: {' or '.join(nearest)}",
    )


def switches_for(stock: Stock, gpus: int, nvlink: NvLink) -> tuple[Offer, ...]:
    """Return the NVSwitches that a VM gets with so many GPUs; empty where it gets none.

    Raises:
        BadInputError: No VM can be given so many GPUs whole, or PCI does not tell which NVSwitches
            go with them, or one of them cannot be given.
    """
    if nvlink.model is not NvSwitchModel.FULL:
        return ()
    if nvlink.board is None:
        raise BadInputError(
            "the host has no board with NVSwitches that is known, so none can be given whole",
            hint="leave --nvswitch out, or say who owns them",
        )
    shape = next((each for each in nvlink.board.shapes if each.gpus == gpus), None)
    if shape is None:
        sizes = ", ".join(str(each.gpus) for each in nvlink.board.shapes)
        raise BadInputError(
            f"no VM can be given {counted(gpus, 'GPU')} and NVSwitches of {nvlink.board.title}",
            hint=f"with NVSwitches of its own a VM has {sizes} GPUs",
        )
    if shape.switches == 0:
        return ()
    if shape.switches != len(stock.nvswitches):
        raise BadInputError(
            f"which {shape.switches} of the {counted(len(stock.nvswitches), 'NVSwitch')} go with"
            f" {counted(gpus, 'GPU')} PCI does not tell",
            hint="name them all, GPUs and NVSwitches: --function ADDRESS --function ADDRESS ...",
        )
    kept = by_reason(stock.nvswitches)
    if kept:
        raise BadInputError(
            f"not all NVSwitches can be given: {kept}",
            hint="say who owns them: --nvswitch shared or --nvswitch host",
        )
    return stock.nvswitches
