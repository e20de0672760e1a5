"""A tree with a kernel that binds drivers, as drivers/base/bus.c and drivers/pci/pci-driver.c do.

A function with a ``driver_override`` is matched by that driver alone. A VF is probed only if it has
one, or its PF's ``sriov_drivers_autoprobe`` is 1.
"""

from collections.abc import Callable, Mapping, Sequence

from trees.host import TreeHost
from tune.faults import FaultyHost
from tune.judged import opened, surveyed
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold
from pcietune.model.not_known import NotKnown
from pcietune.model.profile import ModeName, Profile
from pcietune.model.vfio import VfioPolicy
from pcietune.model.vfio_drivers import VfioDrivers
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.bind.scene import Scene

LOADED = ("pcieport", "mlx5_core", "nvidia")
NO_NOIOMMU = VfioDrivers(unsafe_noiommu=False)


class DriverKernel:
    """A DriverAccess on a tree.

    Attributes:
        tree: The host.
        native: Which driver has an id of its own for a function.
        log: What was asked of it.
        broken: Drivers whose probe fails.
        before: Called with each order before it is obeyed; may change the tree, or raise.
    """

    def __init__(self, tree: TreeHost, native: Mapping[str, str] | None = None) -> None:
        self.tree = tree
        self.native = native or {}
        self.log: list[str] = []
        self.broken: set[str] = set()
        self.before: Callable[[str], None] = lambda _: None
        for driver in LOADED:
            self._directory(driver)
        for device in (tree.root / "sys/bus/pci/devices").iterdir():
            if not (device / "driver_override").exists():
                tree.put(f"sys/bus/pci/devices/{device.name}/driver_override", "(null)")

    def driver(self, function: PciFunction) -> str | NotKnown | None:
        link = self.tree.root / "sys/bus/pci/devices" / str(function.address) / "driver"
        return link.readlink().name if link.is_symlink() else None

    def in_slot(self, function: PciFunction) -> Sequence[PciAddress]:
        slot = str(function.address).rpartition(".")[0]
        devices = self.tree.root / "sys/bus/pci/devices"
        return sorted(PciAddress.parse(path.name) for path in devices.glob(f"{slot}.*"))

    def knows(self, driver: str) -> bool:
        return (self.tree.root / "sys/bus/pci/drivers" / driver).exists()

    def load(self, driver: str) -> None:
        if self.knows(driver):
            return
        self.order(f"modprobe {driver}")
        self._directory(driver)
        for device in sorted((self.tree.root / "sys/bus/pci/devices").iterdir()):
            override = device / "driver_override"
            text = override.read_text().strip() if override.exists() else ""
            if text == driver and not (device / "driver").is_symlink():
                self.bind(device.name, driver)

    def unbind(self, function: PciFunction) -> None:
        self.order(f"unbind {function.address}")
        driver = self.driver(function)
        if driver is None:
            raise ConfigSpaceError(f"{function.address}: No such device")
        device = self.tree.directory(str(function.address))
        (device / "driver").unlink()
        (self.tree.root / f"sys/bus/pci/drivers/{driver}/{function.address}").unlink()
        for made in (device / "vfio-dev/vfio0", device / "vfio-dev"):
            if made.exists():
                made.rmdir()

    def probe(self, function: PciFunction) -> None:
        self.order(f"probe {function.address}")
        address = str(function.address)
        if not (self.tree.root / "sys/bus/pci/devices" / address / "uevent").exists():
            raise ConfigSpaceError(f"{address}: No such device")
        device = self.tree.directory(address)
        override = (device / "driver_override").read_text().strip().removeprefix("(null)")
        physical = device / "physfn/sriov_drivers_autoprobe"
        if physical.exists() and physical.read_text().strip() == "0" and not override:
            return
        driver = override or self.native.get(address)
        loaded = driver and (self.tree.root / "sys/bus/pci/drivers" / driver).exists()
        if self.driver(function) is None and driver and loaded and driver not in self.broken:
            self.bind(address, driver)

    def bind(self, address: str, driver: str) -> None:
        """Let a driver have a function."""
        path = str(self.tree.directory(address).relative_to(self.tree.root.resolve()))
        self._directory(driver)
        self.tree.link(f"sys/bus/pci/drivers/{driver}/{address}", path)
        self.tree.link(f"{path}/driver", f"sys/bus/pci/drivers/{driver}")
        if driver.replace("_", "-").endswith("vfio-pci"):
            (self.tree.root / path / "vfio-dev/vfio0").mkdir(parents=True)

    def order(self, text: str) -> None:
        """Note an order, and let happen what is to happen before it is obeyed."""
        self.log.append(text)
        self.before(text)

    def _directory(self, driver: str) -> None:
        (self.tree.root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)


class OrderingHost(FaultyHost):
    """A HostAccess whose kernel notes writes of attributes in order with all else."""

    def __init__(self, kernel: DriverKernel) -> None:
        super().__init__(opened(kernel.tree), None, [])
        self._kernel = kernel

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        self._kernel.order(f"{name} {function.address} {text}".rstrip())
        super().write_attribute(function, name, text)


def scene(  # noqa: PLR0913 -- one parameter per thing that decides
    kernel: DriverKernel,
    *,
    bind: VfioPolicy | None = None,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
    holds: Callable[[PciFunction], Sequence[Hold]] = lambda _: (),
    vfio: VfioDrivers = NO_NOIOMMU,
    group_modes: Mapping[str, ModeName] | None = None,
) -> Scene:
    """Return the scene of a tree, judged."""
    host = OrderingHost(kernel)
    yardstick = Yardstick(profile, mode, group_modes or {}, vfio=bind)
    audited = audit(host, surveyed(host, profile), yardstick)
    return Scene(host, audited, kernel, vfio, holds, holds)


def driver_of(tree: TreeHost, address: str) -> str | None:
    """Return a function's driver."""
    link = tree.root / "sys/bus/pci/devices" / address / "driver"
    return link.readlink().name if link.is_symlink() else None


def override_of(tree: TreeHost, address: str) -> str:
    """Return what a function's ``driver_override`` holds; empty if it is not set."""
    return (tree.directory(address) / "driver_override").read_text().strip().removeprefix("(null)")


def never() -> bool:
    """Never stop."""
    return False
