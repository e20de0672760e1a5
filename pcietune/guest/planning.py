"""Makes the plan of a VM: what it gets of a host, and where it will see that."""

import msgspec

from pcietune import __version__
from pcietune.guest.cells import Room, cells_for
from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.choose import choose
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.layout.budget import budget_of, budget_warnings
from pcietune.guest.layout.lay_out import Laid, lay_out
from pcietune.guest.needs import check_needs
from pcietune.guest.nvswitch.board import board_with_modules
from pcietune.guest.nvswitch.notes import plan_notes
from pcietune.guest.nvswitch.recognise import board_of, nvswitches
from pcietune.guest.pairs import expect_pairs
from pcietune.guest.plan import SCHEMA, Host, Machine, NvSwitchPlan, Plan
from pcietune.guest.preconditions import check_wish, of_the_vm
from pcietune.guest.stock.beside import Beside
from pcietune.guest.stock.offer import Stock
from pcietune.guest.stock.take_stock import take_stock
from pcietune.guest.wish import Wish
from pcietune.model.access import HostAccess
from pcietune.model.profile import ModeName
from pcietune.model.vfio import FabricPlan
from pcietune.tune.audit.audit import Audit

_MODELS = {
    FabricPlan.NONE: NvSwitchModel.NONE,
    FabricPlan.HOST_FM: NvSwitchModel.HOST,
    FabricPlan.SERVICE_VM: NvSwitchModel.SHARED,
    FabricPlan.IN_GUEST: NvSwitchModel.FULL,
}


def make_plan(host: HostAccess, audited: Audit, beside: Beside, wish: Wish) -> Plan:
    """Return the plan of a VM.

    Args:
        host: The host.
        audited: How it is judged, of a fabric with the port types of all bridges.
        beside: What is known beside.
        wish: What is wanted of the VM.

    Raises:
        BadInputError: The host cannot give it; the message says what it can.
    """
    check_wish(wish)
    stock = take_stock(host, audited, beside, wish)
    nvlink = _nvlink(audited, stock, wish)
    nodes, host_gpus = host.numa_nodes(), stock.gpus_by_node()
    choice = choose(stock, wish, nvlink, Room(nodes, wish, host_gpus))
    told = list(of_the_vm(wish, host.platform().release))
    cells = cells_for(choice.chosen, nodes, wish, host_gpus)
    laid = lay_out(choice.chosen, cells.cells, wish)
    budget = budget_of(laid.bridges, laid.functions)
    platform = host.platform()
    plan = Plan(
        schema=SCHEMA,
        pcietune=__version__,
        host=Host(
            vendor=platform.dmi.get("sys_vendor"),
            product=platform.dmi.get("product_name"),
            profile=audited.profile.name,
        ),
        machine=Machine(
            name=wish.name,
            qemu=f"{wish.qemu[0]}.{wish.qemu[1]}",
            firmware=wish.firmware,
            backend=wish.backend,
        ),
        cells=list(cells.cells),
        bridges=list(laid.bridges),
        functions=list(laid.functions),
        budget=budget,
        pairs=[],
        nvswitch=_nvswitch(audited, wish, nvlink, choice, laid),
        reasons=list(choice.reasons),
        warnings=[
            *choice.warnings,
            *told,
            *cells.warnings,
            *laid.warnings,
            *budget_warnings(budget),
        ],
    )
    check_needs(plan)
    return msgspec.structs.replace(plan, pairs=list(expect_pairs(host, audited.fabric, plan)))


def _nvlink(audited: Audit, stock: Stock, wish: Wish) -> NvLink:
    """Return who has the NVSwitches: as was said, else as the gate is told.

    Raises:
        BadInputError: A GPU has a module that its board has not.
    """
    board = board_of(tuple(audited.fabric.functions.values()))
    if board is not None:
        board = board_with_modules(board, stock.modules.values())
    policy = audited.yardstick.vfio_of(ModeName.VM)
    model = _MODELS[policy.fabric] if wish.nvswitch is None else wish.nvswitch
    return NvLink(model, board)


def _nvswitch(
    audited: Audit, wish: Wish, nvlink: NvLink, choice: Choice, laid: Laid
) -> NvSwitchPlan:
    names = {each.address: each.name for each in laid.functions}
    modules = {
        names[str(gpu.address)]: wish.modules[gpu.address]
        for gpu in choice.gpus
        if gpu.address in wish.modules
    }
    notes = plan_notes(nvlink.board, nvlink.model, known=choice.partition is not None)
    return NvSwitchPlan(
        model=nvlink.model,
        board=None if nvlink.board is None else nvlink.board.name,
        switches=[str(each.address) for each in nvswitches(audited.fabric.functions.values())],
        partition=None if choice.partition is None else choice.partition.number,
        modules=dict(sorted(modules.items())),
        notes=[str(note) for note in notes],
    )
