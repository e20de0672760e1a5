"""What QEMU's arguments depend on besides the plan."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Accelerator(StrEnum):
    """What runs the VM's CPUs."""

    KVM = "kvm"
    TCG = "tcg"  # software, which needs no KVM: to see what a VM enumerates


@dataclass(frozen=True, slots=True)
class QemuOptions:
    """What may be chosen.

    Attributes:
        accelerator: What runs the CPUs.
        ovmf_code: OVMF's program.
        ovmf_vars: The VM's own copy of OVMF's variables; None: they begin as in ``ovmf_template``
            at every start.
        ovmf_template: OVMF's variables as they are shipped.
    """

    accelerator: Accelerator = Accelerator.KVM
    ovmf_code: Path = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
    ovmf_vars: Path | None = None
    ovmf_template: Path = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
