"""What else to know of NVSwitches in VMs, and which of it is an inference."""

from dataclasses import dataclass

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board, Generation


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
