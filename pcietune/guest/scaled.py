"""A plan with more or less memory than was planned."""

from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.plan import Plan
from pcietune.guest.shares import split

_KIB_PER_MIB = 1024


def with_memory(plan: Plan, memory_mib: int) -> Plan:
    """Return a plan whose cells share out another amount of memory as they do now.

    Nobody looks whether the host's nodes have it.

    Raises:
        BadInputError: The cells cannot have it in whole pages of theirs.
    """
    step = max([1, *((each.hugepage_kib or 0) // _KIB_PER_MIB for each in plan.cells)])
    shares = split(memory_mib // step, [each.memory_mib for each in plan.cells])
    if memory_mib % step or not all(shares):
        nearest = max(memory_mib // step, len(plan.cells)) * step
        raise BadInputError(
            f"{memory_mib} MiB cannot be shared out to {len(plan.cells)} cells in pages of"
            f" {step} MiB",
            hint=f"--memory {nearest}M can",
        )
    cells = [
        replace(cell, memory_mib=share * step)
        for cell, share in zip(plan.cells, shares, strict=True)
    ]
    return replace(plan, cells=cells)
