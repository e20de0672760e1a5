"""The sockets, cores and threads that a VM's CPUs are numbered by."""

from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.guest.plan import Cell


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """How many there are.

    Attributes:
        sockets: In all.
        cores: Of each socket.
        threads: Of each core.
    """

    sockets: int
    cores: int
    threads: int

    @property
    def cpus(self) -> int:
        """How many CPUs that is in all."""
        return self.sockets * self.cores * self.threads

    @property
    def last_apic_id(self) -> int:
        """The APIC ID of the last.

        Cores and threads take whole bits of it (QEMU's include/hw/i386/topology.h).
        """
        core_bits = (self.cores - 1).bit_length()
        thread_bits = (self.threads - 1).bit_length()
        last_core = (self.sockets - 1 << core_bits) + self.cores - 1
        return (last_core << thread_bits) + self.threads - 1


def cpu_topology(cells: Sequence[Cell]) -> CpuTopology:
    """Return a socket for each cell that has CPUs, or one for all if the cells are not alike."""
    shapes = {(len(each.vcpus), each.threads) for each in cells if each.vcpus}
    total = sum(len(each.vcpus) for each in cells)
    threads = {threads for _, threads in shapes}
    sockets = sum(1 for each in cells if each.vcpus) if len(shapes) == 1 else 1
    if len(threads) != 1 or total % (sockets * max(threads)):
        return CpuTopology(sockets=1, cores=total, threads=1)
    (per_core,) = threads
    return CpuTopology(sockets, total // (sockets * per_core), per_core)
