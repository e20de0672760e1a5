"""The order of steps where a VM has NVSwitches itself, and Fabric Manager runs in it.

After the Fabric Manager User Guide, full passthrough virtualization model.
"""

from collections.abc import Iterator, Sequence

from pcietune.guest.nvswitch.board import Board, Generation, Shape
from pcietune.guest.nvswitch.fabric_manager import IS_ACTIVE
from pcietune.guest.nvswitch.notes import Note
from pcietune.guest.nvswitch.step import Step, Where, resets


def steps_before(board: Board, shape: Shape, functions: Sequence[str]) -> Iterator[Step]:
    """Yield what is done until a VM has NVLink.

    Args:
        board: The host's.
        shape: What the VM is given.
        functions: Addresses of its GPUs and NVSwitches on the host.
    """
    yield Step(
        Where.HOST,
        "no other VM has any of its GPUs and NVSwitches: reset them all",
        resets(functions),
    )
    yield Step(Where.HOST, "start the VM, with no other reset by hand")
    if shape.gpus == 1:
        yield Step(
            Where.VM,
            "switch NVLink off before the driver loads: one GPU alone has no NVSwitch, and CUDA "
            "would wait for its fabric",
            ("echo options nvidia NVreg_NvLinkDisable=1 > /etc/modprobe.d/nvidia-nvlink.conf",),
        )
        return
    nvlsm = ", with nvlsm," if board.generation is Generation.BLACKWELL else ""
    yield Step(
        Where.VM,
        f"start Fabric Manager{nvlsm} of the driver's version, before any CUDA program",
        ("systemctl start nvidia-fabricmanager", IS_ACTIVE),
    )
    yield Step(Where.VM, _links_text(shape), ("nvidia-smi nvlink -s", "nvidia-smi topo -m"))


def steps_after(functions: Sequence[str]) -> Iterator[Step]:
    """Yield what is done once the VM is to end; ``functions`` as of ``steps_before``."""
    yield Step(Where.HOST, "stop the VM")
    yield Step(Where.HOST, "reset its GPUs and NVSwitches", resets(functions))


def notes(board: Board, shape: Shape) -> Iterator[Note]:
    """Yield what has to be known where a VM is given NVSwitches."""
    if board.generation is Generation.BLACKWELL and shape.gpus > 1:
        yield Note(
            "the NVSwitches are no PCI functions: instead of them the VM is given the four "
            "functions of the board's ConnectX-7, whose VPD says SMDL=SW_MNG"
        )
    if 1 < shape.gpus < board.gpus:
        yield Note(
            "the board's other GPUs go to other VMs: the guide wants NVLinks between the parts "
            "blocked on GPUs and NVSwitches, by a filter of the NVSwitches' registers"
        )
        yield Note(
            "QEMU and VFIO have no such filter, so that such VMs are not apart", inference=True
        )
    if shape.gpus > 1:
        yield Note("errors of the NVSwitches are told in the VM, and not on the host")


def _links_text(shape: Shape) -> str:
    links = "the NVLinks" if shape.links is None else f"{shape.links} NVLinks"
    return f"{links} of each GPU are up"
