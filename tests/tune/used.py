"""Hosts that use functions of their own, as live ones are seen to."""

from collections.abc import Collection, Mapping

from trees.host import TreeHost
from tune.faults import FaultyHost
from tune.judged import opened

from pcietune.address import PciAddress
from pcietune.model.protection import HostUse

NO_USE = HostUse()


class UsedHost(FaultyHost):
    """A host that uses functions of its own, as a live one is seen to."""

    def __init__(
        self,
        tree: TreeHost,
        use: HostUse | None = NO_USE,
        macs: Mapping[str, Collection[PciAddress]] | None = None,
    ) -> None:
        super().__init__(opened(tree), None, [])
        self._use = use
        self._macs = macs

    def use(self) -> HostUse | None:
        return self._use

    def hardware_addresses(self) -> Mapping[str, Collection[PciAddress]] | None:
        return self._macs
