"""The partitions of a host's NVSwitches, or of a board by its name."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.board import BOARDS, Board, board_named, board_with_modules
from pcietune.guest.nvswitch.listing import Listing, list_partitions
from pcietune.guest.nvswitch.recognise import board_of, nvswitches
from pcietune.host.nvidia.by_hand import read_module_file
from pcietune.host.nvidia.kept import read_nvidia
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.nvidia_gpu import is_nvidia_gpu


def listed(
    source: Sequence[Path] | None,
    board: str | None,
    module_file: Path | None,
    active: Sequence[int],
) -> Listing:
    """Return the partitions, and which are free.

    Args:
        source: The recorded host; None for this machine.
        board: A board by its name, instead of a host.
        module_file: Module ids by hand; None for those that the driver told.
        active: Ids of the partitions that are active now.

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
        return list_partitions(board_named(board), active, addresses={}, switches=None, gpus=())
    with open_host(source) as host:
        found = _board_of(host)
        modules = _modules(host, module_file)
        return list_partitions(
            board_with_modules(found, modules.values()),
            active,
            addresses={module: str(address) for address, module in modules.items()},
            switches=[str(switch.address) for switch in nvswitches(host.functions())],
            gpus=[str(gpu.address) for gpu in host.functions() if is_nvidia_gpu(gpu)],
        )


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
