"""The partitions of a host's NVSwitches, or of a board by its name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.board import BOARDS, Board, board_named, board_with_modules
from pcietune.guest.nvswitch.fmpm_list import parse_fmpm_list
from pcietune.guest.nvswitch.listing import Listing, list_partitions
from pcietune.guest.nvswitch.partition import Table
from pcietune.guest.nvswitch.recognise import board_of, nvswitches
from pcietune.host.nvidia.by_hand import read_module_file
from pcietune.host.nvidia.kept import read_nvidia
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.host.text_file import read_text
from pcietune.model.nvidia_gpu import is_nvidia_gpu


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of Fabric Manager's partitions.

    Attributes:
        active: Ids of those that are active; None if nobody said.
        table: All that it lists; None if only the guide's are known.
    """

    active: tuple[int, ...] | None
    table: Table | None


def fabric_managers(fmpm: Path | None, active: Sequence[int] | None) -> Told:
    """Return what was told of Fabric Manager's partitions.

    Args:
        fmpm: What ``fmpm -l`` printed; None if that is not at hand.
        active: Ids by hand; None or empty if nobody said.

    Raises:
        BadInputError: Both are given, or the file cannot be used.
        NotPermittedError: The kernel keeps it from this user.
    """
    if fmpm is None:
        return Told(tuple(active) if active else None, None)
    if active:
        raise BadInputError(
            "--fmpm tells which partitions are active, and --active tells it again",
            hint="leave one of them out",
        )
    text = read_text(fmpm, hint="fmpm -l > FILE, where it reaches Fabric Manager")
    found = parse_fmpm_list(text, "standard input" if str(fmpm) == "-" else str(fmpm))
    return Told(found.active, found.table)


def listed(
    source: Sequence[Path] | None,
    board: str | None,
    module_file: Path | None,
    told: Told,
) -> Listing:
    """Return the partitions, and which are free.

    Args:
        source: The recorded host; None for this machine.
        board: A board by its name, instead of a host.
        module_file: Module ids by hand; None for those that the driver told.
        told: What was told of Fabric Manager's partitions.

    Raises:
        BadInputError: The host has no board that is known, or the board no such partition; or a
            board and a host are given; or the module file cannot be used.
        NotPermittedError: This user may not look there.
    """
    if board is not None:
        if source or module_file is not None:
            raise BadInputError(
                "--board names a board, and --from and --modules are of a host",
                hint="leave --board out, or the others",
            )
        return list_partitions(
            _with(board_named(board), told), told.active, addresses={}, switches=None, gpus=()
        )
    with open_host(source) as host:
        found = _board_of(host)
        modules = _modules(host, module_file)
        return list_partitions(
            _with(board_with_modules(found, modules.values()), told),
            told.active,
            addresses={module: str(address) for address, module in modules.items()},
            switches=[str(switch.address) for switch in nvswitches(host.functions())],
            gpus=[str(gpu.address) for gpu in host.functions() if is_nvidia_gpu(gpu)],
        )


def _with(board: Board, told: Told) -> Board:
    return board if told.table is None else replace(board, partitions=told.table)


def _board_of(host: SysfsHost) -> Board:
    board = board_of(host.functions())
    if board is None:
        known = ", ".join(each.name for each in BOARDS)
        raise BadInputError(
            "this host has no NVSwitches that pcietune knows, by the ids of its GPUs and switches",
            hint=f"name the board by --board: {known}",
        )
    return board


def _modules(host: SysfsHost, module_file: Path | None) -> Mapping[PciAddress, int]:
    if module_file is not None:
        return read_module_file(module_file, host.functions())
    kept = read_nvidia(host.files)
    if kept is None:
        return {}
    told = kept.by_address(host.functions())
    return {address: gpu.module for address, gpu in told.items() if gpu.module is not None}
