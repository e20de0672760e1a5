"""Hosts that fail: what may go wrong at a write, at the register or in the kernel."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count

from trees.host import TreeHost

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.numa_node import NumaNode
from pcietune.model.platform import Platform
from pcietune.model.protection import HostUse
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import MaskedWrite

ACS_CONTROL = 0x106  # of every port in the trees: ACS is their first extended capability

Writer = Callable[[PciFunction, MaskedWrite], None]
Fault = Callable[[PciFunction, MaskedWrite, Writer], None]


class FaultyHost:
    """A HostAccess whose writes go through a fault, which gets the writer that works."""

    def __init__(self, host: HostAccess, fault: Fault | None, log: list[str]) -> None:
        self._host = host
        self._fault = fault
        self._log = log

    @property
    def recorded(self) -> bool:
        return self._host.recorded

    @property
    def privileged(self) -> bool:
        return self._host.privileged

    def platform(self) -> Platform:
        return self._host.platform()

    def use(self) -> HostUse | None:
        return self._host.use()

    def hardware_addresses(self) -> Mapping[str, Collection[PciAddress]] | None:
        return self._host.hardware_addresses()

    def functions(self) -> Sequence[PciFunction]:
        return self._host.functions()

    def knows_config_acs(self) -> bool | None:
        return self._host.knows_config_acs()

    def numa_nodes(self) -> Mapping[int, NumaNode] | None:
        return self._host.numa_nodes()

    def attribute(self, function: PciFunction, name: str) -> str | None:
        return self._host.attribute(function, name)

    def attribute_again(self, function: PciFunction, name: str) -> str | None:
        return self._host.attribute_again(function, name)

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        self._log.append(f"{name} of {function.address}: {text}")
        self._host.write_attribute(function, name, text)

    def group_type_again(self, number: int) -> str | None:
        return self._host.group_type_again(number)

    def write_group_type(self, number: int, text: str) -> None:
        self._log.append(f"type of group {number}: {text}")
        self._host.write_group_type(number, text)

    def link(self, function: PciFunction) -> LinkState:
        return self._host.link(function)

    def state(self, function: PciFunction) -> FunctionState:
        return self._host.state(function)

    def state_again(self, function: PciFunction) -> FunctionState:
        return self._host.state_again(function)

    def config(self, function: PciFunction) -> ConfigSpace:
        return self._host.config(function)

    def write(self, function: PciFunction, write: MaskedWrite) -> None:
        self._log.append(f"write {function.address}")
        if self._fault is None:
            self._host.write(function, write)
        else:
            self._fault(function, write, self._host.write)


def word(tree: TreeHost, address: str, offset: int = ACS_CONTROL) -> int:
    """Return a 16-bit register of a tree."""
    return int.from_bytes(tree.config(address).read_bytes()[offset : offset + 2], "little")


def set_word(tree: TreeHost, address: str, value: int, offset: int = ACS_CONTROL) -> None:
    """Change a 16-bit register of a tree behind pcietune's back."""
    data = bytearray(tree.config(address).read_bytes())
    data[offset : offset + 2] = value.to_bytes(2, "little")
    tree.config(address).write_bytes(data)


def all_ones(tree: TreeHost, address: str) -> None:
    """Let a function answer no more."""
    tree.config(address).write_bytes(b"\xff" * 4096)


def vanish(tree: TreeHost, address: str) -> None:
    """Take a function away, as a hot-unplug does."""
    for name in ("config", "uevent"):
        (tree.directory(address) / name).unlink()


def configs(tree: TreeHost) -> dict[str, bytes]:
    """Return every function's Configuration Space."""
    paths = (tree.root / "sys/bus/pci/devices").iterdir()
    return {path.name: (path / "config").read_bytes() for path in paths}


def stuck(address: str, bits: int) -> Fault:
    """Let some bits of one port be read-only."""

    def fault(function: PciFunction, write: MaskedWrite, works: Writer) -> None:
        mask = write.mask & ~bits if str(function.address) == address else write.mask
        works(
            function,
            MaskedWrite(
                offset=write.offset, width=write.width, value=write.value & mask, mask=mask
            ),
        )

    return fault


def refused(*, nth: int, until: int | None = None) -> Fault:
    """Let the kernel refuse the nth write and all further ones, or those up to ``until``."""
    numbers = count(1)

    def fault(function: PciFunction, write: MaskedWrite, works: Writer) -> None:
        number = next(numbers)
        if nth <= number <= (until or number):
            raise NotPermittedError(f"{function.address}: the kernel refused", hint="a hint")
        works(function, write)

    return fault


def at_write(
    *, nth: int, before: Callable[[], None] = lambda: None, after: Callable[[], None] = lambda: None
) -> Fault:
    """Let something happen right before and after the nth write."""
    numbers = count(1)

    def fault(function: PciFunction, write: MaskedWrite, works: Writer) -> None:
        mine = next(numbers) == nth
        if mine:
            before()
        works(function, write)
        if mine:
            after()

    return fault
