"""What QEMU's arguments depend on besides the plan."""

from dataclasses import dataclass
from enum import StrEnum


class Accelerator(StrEnum):
    """What runs the VM's CPUs."""

    KVM = "kvm"
    TCG = "tcg"  # software, which needs no KVM: to see what a VM enumerates


@dataclass(frozen=True, slots=True)
class QemuOptions:
    """What may be chosen.

    Attributes:
        accelerator: What runs the CPUs.
        ovmf_code: File of OVMF's program, Debian's by default.
        ovmf_vars: The VM's own copy of OVMF's variables; None: they begin as in ``ovmf_template``
            at every start.
        ovmf_template: OVMF's variables as they are shipped.
    """

    accelerator: Accelerator = Accelerator.KVM
    ovmf_code: str = "/usr/share/OVMF/OVMF_CODE_4M.fd"
    ovmf_vars: str | None = None
    ovmf_template: str = "/usr/share/OVMF/OVMF_VARS_4M.fd"
