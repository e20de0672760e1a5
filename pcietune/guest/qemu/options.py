"""What QEMU's arguments depend on besides the plan."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import BadInputError, quoted


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

    def __post_init__(self) -> None:
        """Raise BadInputError if a file's name does not stand in a line of text as it is."""
        for file in (self.ovmf_code, self.ovmf_vars, self.ovmf_template):
            if file is not None and not (file and file.isprintable()):
                raise BadInputError(
                    f"{quoted(file)}: no name that a command in text can have",
                    hint="name a file of OVMF's by letters, digits and the like",
                )
