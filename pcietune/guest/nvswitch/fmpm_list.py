"""What ``fmpm -l`` prints: Fabric Manager's own partitions, and which of them are active."""

from dataclasses import dataclass

import msgspec

from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.partition import Partition, Table

_HINT = "give what fmpm -l prints where it reaches Fabric Manager"


@dataclass(frozen=True, slots=True)
class Listed:
    """Fabric Manager's word, which counts where a table of the guide's differs.

    Attributes:
        table: All partitions that it supports, by their ids.
        active: Ids of those that are active.
    """

    table: Table
    active: tuple[int, ...]


class _Gpu(msgspec.Struct):
    physical_id: int = msgspec.field(name="physicalId")
    links: int = msgspec.field(name="maxNumNvLinks")


class _Partition(msgspec.Struct):
    number: int = msgspec.field(name="partitionId")
    active: int = msgspec.field(name="isActive")
    gpus: list[_Gpu] = msgspec.field(name="gpuInfo")


class _List(msgspec.Struct):
    partitions: list[_Partition] = msgspec.field(name="partitionInfo")


def parse_fmpm_list(text: str, name: str) -> Listed:
    """Return what a text of ``fmpm -l`` tells.

    Args:
        text: JSON, as fmpm 1.0.1 prints it.
        name: What the text is called, for messages.

    Raises:
        BadInputError: It is none, or lists no partition, or one twice, or one without GPUs.
    """
    try:
        found = msgspec.json.decode(text, type=_List)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInputError(f"{name}: no list of partitions: {error}", hint=_HINT) from error
    numbers = {each.number for each in found.partitions}
    if len(numbers) < len(found.partitions) or not all(each.gpus for each in found.partitions):
        raise BadInputError(f"{name}: a partition is listed twice, or has no GPU", hint=_HINT)
    if not numbers:
        raise BadInputError(f"{name}: Fabric Manager supports no partition", hint=_HINT)
    table = sorted(map(_partition, found.partitions), key=lambda each: each.number)
    active = sorted(each.number for each in found.partitions if each.active)
    return Listed(tuple(table), tuple(active))


def _partition(told: _Partition) -> Partition:
    modules = frozenset(gpu.physical_id for gpu in told.gpus)
    return Partition(told.number, modules, min(gpu.links for gpu in told.gpus))
