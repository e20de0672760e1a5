"""What happens to a host's files when a VM starts, and a clock that only moves when waited for."""

from collections.abc import Callable

from trees.host import TreeHost

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction
from pcietune.registers.ats import Ats


def live(tree: TreeHost) -> SysfsHost:
    """Return the host as a live one, nothing of which was read yet."""
    return SysfsHost(HostFiles(tree.root, recorded=False))


def function(tree: TreeHost, address: str) -> PciFunction:
    [found] = [f for f in live(tree).functions() if f.address == PciAddress.parse(address)]
    return found


def open_by_vfio(tree: TreeHost, *addresses: str) -> None:
    """Let a VM open functions, as the kernel shows it."""
    for address in addresses:
        (tree.directory(address) / "vfio-dev/vfio0").mkdir(parents=True, exist_ok=True)
        (tree.directory(address) / "enable").write_text("1\n")


def set_ats(tree: TreeHost, address: str, control: int) -> None:
    """Set ATS Control, 16 bits."""
    ats = Ats.find(live(tree).config(function(tree, address)))
    assert ats is not None
    config = tree.config(address)
    data = bytearray(config.read_bytes())
    data[ats.control_offset : ats.control_offset + 2] = control.to_bytes(2, "little")
    config.write_bytes(data)


class Clock:
    """A clock in seconds; at certain times something happens.

    Attributes:
        time_s: What it shows.
    """

    def __init__(self, *events: tuple[float, Callable[[], None]]) -> None:
        self.time_s = 0.0
        self._events = list(events)

    def now(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds
        while self._events and self._events[0][0] <= self.time_s:
            _, happen = self._events.pop(0)
            happen()
