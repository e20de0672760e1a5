"""What is not as it should be with what a VM gets, or is not known."""

from collections.abc import Iterator

from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.choice.told import counted, named
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, Generation
from pcietune.guest.nvswitch.tied import LEARN_MODULES
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.wish import Mig, Wish

_NVIDIA = 0x10DE
_CAN_MIG = (  # ids of pci.ids; products of NVIDIA's MIG User Guide
    *(0x20B0, 0x20B2, 0x20B5, 0x20B7, 0x20BD, 0x20F1, 0x20F3, 0x20F5, 0x20F6),  # A100, A800, A30
    *(0x2321, 0x2322, 0x2324, 0x2330, 0x2331, 0x2336, 0x2339),  # H100, H800
    *(0x2328, 0x2329, 0x232C, 0x2335, 0x233B, 0x2342, 0x2348),  # H20, H200, GH200
    *(0x2901, 0x2909, 0x2941, 0x3182, 0x31C2, 0x31C3, 0x2BB5),  # B200, B300, RTX PRO 6000
)
_ALONE = (
    "CUDA in the VM would wait for a Fabric Manager, which nobody has for one GPU alone: load"
    " NVIDIA's driver there with NVreg_NvLinkDisable=1"
)
_WITHOUT = (
    "the VM does without NVLink: say who has the NVSwitches, --nvswitch full, shared or host; or"
    " load NVIDIA's driver there with NVreg_NvLinkDisable=1, since CUDA would wait for a Fabric"
    " Manager (inference)"
)
_CONFIDENTIAL = (range(0x2300, 0x2400), range(0x2900, 0x10000))  # Hopper, Blackwell and later


def warnings(stock: Stock, choice: Choice, wish: Wish, nvlink: NvLink) -> Iterator[str]:
    """Yield them in sentences."""
    for offer in choice.offers:
        for finding in offer.failing:
            yield f"{offer.address} is given though its audit fails: {finding}"
        yield from offer.unsure
    unbound = [str(address) for offer in choice.offers for address in offer.unbound]
    if unbound:
        yield f"VFIO has not got all of it yet: pcietune vfio bind {' '.join(unbound)}"
    yield from _shared(stock, choice)
    if stock.untold:
        yield (
            f"VMs of which no plan was told have {', '.join(map(str, stock.untold))}: their CPUs"
            " and memory are taken for free; --taken with their plans says what they have"
        )
    yield from _nvlink(stock, choice, nvlink)
    yield from _mig(choice, wish)
    newer = [
        gpu
        for gpu in choice.gpus
        if _is_nvidia(gpu) and any(_device(gpu) in devices for devices in _CONFIDENTIAL)
    ]
    if newer and wish.confidential is None:
        yield (
            f"{named(newer)}: whether confidential computing is on is not known; other rules hold"
            " then: nvidia-smi conf-compute -f, then --confidential off"
        )


def _shared(stock: Stock, choice: Choice) -> Iterator[str]:
    for switch in dict.fromkeys(offer.switch for offer in choice.offers):
        other = None if switch is None else stock.occupied.get(switch)
        if other is not None:
            yield (
                f"switch {switch} serves {other}, too: with DirectTrans on, a function that lies"
                " about translated addresses reaches its neighbours there unchecked"
            )


def _nvlink(stock: Stock, choice: Choice, nvlink: NvLink) -> Iterator[str]:
    """Yield what is not known of NVLink, and what its absence asks of the VM.

    A GPU of such a board, alone in a VM, has its NVLinks switched off there (Fabric Manager User
    Guide, full passthrough, virtual machine with one GPU).
    """
    if not choice.gpus:
        return
    if nvlink.board is None:
        yield from _without_a_board(stock, nvlink.model)
    elif len(choice.gpus) == 1 and not nvlink.by_partition:
        yield _ALONE
    elif nvlink.model is NvSwitchModel.NONE:
        yield _WITHOUT
    elif len(choice.gpus) == 1:
        return
    elif nvlink.model is NvSwitchModel.FULL and not _is_a_shape(choice, nvlink.board):
        yield (
            f"NVLink is not planned: {counted(len(choice.gpus), 'GPU')} and"
            f" {counted(len(choice.nvswitches), 'NVSwitch')} are nothing that a VM can be given"
            f" whole of {nvlink.board.title}"
        )
    elif nvlink.by_partition and choice.partition is None:
        yield f"NVLink is not planned: it is not known {LEARN_MODULES}"
    elif nvlink.model is NvSwitchModel.FULL and nvlink.board.generation is Generation.BLACKWELL:
        yield (
            "the NVSwitches of this board are managed by functions of a ConnectX-7, which the VM"
            " needs, too, and of which PCI ids tell nothing (their VPD says SMDL=SW_MNG): add them"
            " by hand, each below a root port of its own on pcie.0"
        )


def _without_a_board(stock: Stock, model: NvSwitchModel) -> Iterator[str]:
    if model is not NvSwitchModel.NONE:
        yield (
            f"no NVLink is planned, though NVSwitches were said to be {model}: by its ids this"
            " host is no board with NVSwitches that pcietune knows"
        )
    elif stock.nvswitches:
        yield (
            f"no NVLink is planned: the host has {counted(len(stock.nvswitches), 'NVSwitch')}, and"
            " its GPUs are of no board that pcietune knows; CUDA in the VM may wait for a Fabric"
            " Manager (inference)"
        )


def _is_a_shape(choice: Choice, board: Board) -> bool:
    """Return whether a VM can be given such numbers of GPUs and NVSwitches whole."""
    numbers = (len(choice.gpus), len(choice.nvswitches))
    return any((shape.gpus, shape.switches) == numbers for shape in board.shapes)


def _mig(choice: Choice, wish: Wish) -> Iterator[str]:
    unknown = [
        gpu
        for gpu in choice.gpus
        if _is_nvidia(gpu)
        and _device(gpu) in _CAN_MIG
        and wish.mig.get(gpu.address, Mig.NOT_KNOWN) is Mig.NOT_KNOWN
    ]
    if unknown:
        yield (
            f"whether MIG is on is not known of {counted(len(unknown), 'GPU')}, and it switches"
            " NVLink off: nvidia-smi -q -d MIG tells while NVIDIA's driver has them, then --mig off"
        )


def _is_nvidia(gpu: Offer) -> bool:
    return gpu.chosen.function.vendor == _NVIDIA


def _device(gpu: Offer) -> int:
    return gpu.chosen.function.device
