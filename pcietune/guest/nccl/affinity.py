"""CPU masks as NCCL reads them: groups of eight hex digits, the highest CPUs first."""

import re
from collections.abc import Iterable

_GROUP = 32  # CPUs
_FORM = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8}){0,27}")  # NCCL's strings hold no more


def affinity_mask(cpus: Iterable[int]) -> str:
    """Return the mask of CPUs, as the kernel's ``cpumap`` has it: ``00000001,ffffffff``."""
    mask = sum(1 << cpu for cpu in set(cpus))
    groups = max(1, -(-mask.bit_length() // _GROUP))
    return ",".join(
        f"{mask >> _GROUP * group & 0xFFFF_FFFF:08x}" for group in reversed(range(groups))
    )


def parse_affinity(text: str) -> frozenset[int] | None:
    """Return the CPUs of a mask; None if NCCL would read other CPUs than it seems to name."""
    if not _FORM.fullmatch(text):
        return None
    mask = int(text.replace(",", ""), 16)
    return frozenset(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
