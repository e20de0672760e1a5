"""What the NVSwitches of a host ask of the choice."""

from collections.abc import Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import Board
from pcietune.guest.nvswitch.partition import Table
from pcietune.guest.stock.offer import Stock


@dataclass(frozen=True, slots=True)
class NvLink:
    """The NVSwitches, as far as VMs go.

    Attributes:
        model: Who owns them.
        board: Which board they are of; None if the host has none, or one not known.
    """

    model: NvSwitchModel = NvSwitchModel.NONE
    board: Board | None = None

    def partitions(self, stock: Stock) -> Table:
        """Return what Fabric Manager can activate; empty if that binds nobody, or is not known.

        It is known only where all GPUs' modules are.
        """
        if not self.by_partition or self.board is None or self.without_module(stock):
            return ()
        return self.board.partitions

    def without_module(self, stock: Stock) -> Mapping[PciAddress, None]:
        """Return the GPUs of which no module id is known."""
        return {g.address: None for g in stock.gpus if g.address not in stock.modules}

    @property
    def by_partition(self) -> bool:
        """Whether Fabric Manager activates a partition for each VM."""
        return self.model in (NvSwitchModel.SHARED, NvSwitchModel.HOST)
