"""What the firmware's tables say of ATS, and which of them nobody can make sense of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pcietune.host.firmware.dmar import DMAR, read_dmar
from pcietune.host.firmware.iort import IORT, read_iort
from pcietune.host.host_files import HostFiles
from pcietune.model.dmar import Dmar

_Table = TypeVar("_Table")


@dataclass(frozen=True, slots=True)
class FirmwareTables:
    """The tables; of ``model.platform.Platform``, which says what each is."""

    dmar: Dmar | None
    root_complex_ats: Mapping[int, bool] | None
    damaged: Mapping[str, str]


def read_tables(files: HostFiles) -> FirmwareTables:
    """Return what the tables say; one that is damaged says nothing but that."""
    damaged: dict[str, str] = {}

    def unless_damaged(signature: str, read: Callable[[HostFiles], _Table | None]) -> _Table | None:
        try:
            return read(files)
        except ValueError as error:
            damaged[signature] = str(error)
            return None

    return FirmwareTables(unless_damaged(DMAR, read_dmar), unless_damaged(IORT, read_iort), damaged)
