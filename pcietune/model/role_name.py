"""What a function is to pcietune."""

from enum import StrEnum


class RoleName(StrEnum):
    """What a function is to pcietune."""

    GPU = "gpu"
    NIC = "nic"
    NVSWITCH = "nvswitch"
    DPU = "dpu"
