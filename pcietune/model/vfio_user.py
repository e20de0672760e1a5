"""Who has a function open by VFIO: in practice a VM's process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VfioUser:
    """A process that has a function.

    Attributes:
        pid: Its number.
        name: Its name as ``comm`` has it, at most 15 characters: ``qemu-system-x86``.
        iommufd: Whether it opened the function's own node, as users of iommufd do, and not that
            of its group.
    """

    pid: int
    name: str
    iommufd: bool

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"

    def maps_peers(self, release: tuple[int, int] | None) -> bool | None:
        """Return whether VFIO maps the BARs of the VM's other functions for it; None if not known.

        By the group's container always; iommufd takes no MMIO before Linux 7.0, where it came as
        DMA-BUF.

        Args:
            release: Major and minor number of the kernel's; None if not known.
        """
        if not self.iommufd:
            return True
        return None if release is None else release >= (7, 0)
