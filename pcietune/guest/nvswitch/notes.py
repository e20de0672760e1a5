"""What else to know of NVSwitches in VMs, and which of it is an inference."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, Generation
from pcietune.guest.nvswitch.tied import LEARN_MODULES


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence.

    Attributes:
        text: It.
        inference: Whether it follows from what is known, and no source says it of this case.
    """

    text: str
    inference: bool = False

    def __str__(self) -> str:
        """Return it for people, marked if it is an inference."""
        return f"inference: {self.text}" if self.inference else self.text


def training_note(model: NvSwitchModel) -> Note:
    """Return what Fabric Manager needs to train the links of Ampere's GPUs.

    The guide asks for all GPUs on nvidia.ko where they are trained for vGPU; of service VMs and of
    hosts with VFIO it follows.
    """
    where = (
        "the service VM has all GPUs beside the NVSwitches until Fabric Manager has begun there"
        if model is NvSwitchModel.SHARED
        else "NVIDIA's driver has all GPUs until Fabric Manager has begun on the host; VFIO gets "
        "them afterwards"
    )
    return Note(
        f"Fabric Manager trains the links of these GPUs when it starts, so {where}", inference=True
    )


def reset_note() -> Note:
    """Return what a reset does to links that Fabric Manager trained.

    VFIO resets a function when it is opened (drivers/vfio/pci/vfio_pci_core.c); a patch that left
    that out for shared NVSwitches was not taken (kvm list, 14 October 2021, "vfio: Add
    ignore_reset").
    """
    return Note(
        "a reset takes down links that Fabric Manager trained, and VFIO and QEMU reset each GPU "
        "when a VM starts: look in the VM whether they are up, nvidia-smi nvlink -s",
        inference=True,
    )


def mig_note(board: Board) -> Note:
    """Return what MIG does to a partition."""
    if board.generation is Generation.AMPERE:
        return Note(
            "MIG turns a GPU's NVLinks off: a partition of several GPUs cannot be activated with "
            "one of them, and is missing if MIG was on when Fabric Manager began"
        )
    return Note(
        "MIG takes a GPU's NVLinks out of use: its partition can be activated all the same, and "
        "there is no NVLink"
    )


def plan_notes(board: Board | None, model: NvSwitchModel, *, known: bool) -> Iterator[Note]:
    """Yield what a plan says beside the partition of its VM's GPUs.

    Args:
        board: The host's; None if it has none that is known.
        model: Who owns the NVSwitches.
        known: Whether the partition is known.
    """
    if board is None or model is NvSwitchModel.NONE:
        return
    if model is not NvSwitchModel.FULL:
        if not known:
            yield Note(f"not known: {LEARN_MODULES}")
        if board.generation is Generation.AMPERE:
            yield training_note(model)
            yield reset_note()
    yield mig_note(board)


def board_notes(board: Board) -> Iterator[Note]:
    """Yield what sets a board's partitions apart from other boards'."""
    match board.generation:
        case Generation.AMPERE:
            yield Note(
                "Fabric Manager leaves out what a failed GPU, NVLink or NVSwitch makes impossible; "
                "the other ids stay: fmpm --list-unsupported-partitions"
            )
        case Generation.HOPPER:
            yield Note("two GPUs of a partition are no neighbours by module: 1 and 3, 2 and 4")
            yield Note("all partitions are listed, whatever failed; hardware trains the links")
        case Generation.BLACKWELL:
            yield Note(
                "two GPUs of a partition are neighbours by module, and ids begin at 1: numbers of "
                "other boards are not to be taken over"
            )
            yield Note(
                "the NVSwitches are no PCI functions: four functions of a ConnectX-7 manage them, "
                "whose VPD says SMDL=SW_MNG, and no tenant is given them; nvlsm runs beside Fabric "
                "Manager"
            )
            yield Note(
                "GPUs are reset once after Fabric Manager began with FABRIC_MODE=1, so that they "
                "forget earlier partitions (NVIDIA/gpu-driver-container, pull request 909)"
            )
    yield mig_note(board)
