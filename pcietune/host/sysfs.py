"""A host through sysfs: live, or recorded in a directory of the same shape."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError
from pcietune.host.config_space import FileConfigSpace
from pcietune.host.function_state import read_link, read_state
from pcietune.host.functions import DEVICES, Listing, list_functions
from pcietune.host.host_files import HostFiles
from pcietune.host.iommu import GROUPS
from pcietune.host.kernel_file import write_kernel_file
from pcietune.host.numa_nodes import read_nodes
from pcietune.host.platform import read_config_acs, read_platform
from pcietune.host.recordings.recorded_config import RecordedConfigSpace, Unread
from pcietune.host.uses.host_use import read_host_use
from pcietune.host.uses.interfaces import read_hardware_addresses
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.numa_node import NumaNode
from pcietune.model.platform import Platform
from pcietune.model.protection import HostUse
from pcietune.registers.fields import MaskedWrite


class SysfsHost:
    """A host whose sysfs, procfs and ``/etc`` are found below a root; a HostAccess.

    Whatever was read is remembered, so that a run sees one state of the host.

    Attributes:
        files: The host's files.
    """

    def __init__(
        self,
        files: HostFiles,
        *,
        unread: Mapping[PciAddress, Unread] | None = None,
        use: HostUse | None = None,
    ) -> None:
        """Read nothing yet.

        Args:
            files: The host's files.
            unread: What a recording has not of each function's Configuration Space.
            use: What a recording tells of the host's use of its functions.
        """
        self.files = files
        self._unread = unread or {}
        self._listed: Listing | None = None
        self._states: dict[PciAddress, FunctionState] = {}
        self._attributes: dict[tuple[PciAddress, str], str | None] = {}
        self._configs: dict[PciAddress, FileConfigSpace] = {}
        self._watch: Callable[[PciAddress], None] | None = None
        self._platform: Platform | None = None
        self._use = use

    @property
    def root(self) -> Path:
        """The directory that stands for the host's ``/``."""
        return self.files.root

    @property
    def recorded(self) -> bool:
        """Whether this is a recording, not the machine that pcietune runs on."""
        return self.files.recorded

    @property
    def privileged(self) -> bool:
        """Whether this user may read all of Configuration Space and write it."""
        return self.recorded or os.geteuid() == 0

    @property
    def problems(self) -> Sequence[str]:
        """Sentences on what ``functions`` had to leave out, though it did not vanish."""
        return self._listing().problems

    @contextmanager
    def watched(self, watch: Callable[[PciAddress], None]) -> Iterator[None]:
        """Call ``watch`` before the first register of each function is read."""
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None

    def platform(self) -> Platform:
        """Return what the host is apart from its functions."""
        if self._platform is None:
            self._platform = read_platform(self.files)
        return self._platform

    def knows_config_acs(self) -> bool | None:
        """Return whether this kernel has the ``pci=config_acs=`` option; None if not known.

        Not remembered, and slow: the kernel's symbols are looked through.
        """
        return read_config_acs(self.files)

    def numa_nodes(self) -> Mapping[int, NumaNode] | None:
        """Return the host's NUMA nodes by number, which is not remembered; None if not known."""
        return read_nodes(self.files)

    def use(self) -> HostUse | None:
        """Return what the host uses its own functions for; None if a recording does not tell."""
        if self._use is None and not self.recorded:
            self._use = read_host_use(self.files)
        return self._use

    def hardware_addresses(self) -> Mapping[str, Collection[PciAddress]] | None:
        """Return the functions by their MAC addresses, in lower case; None of a recording.

        Not remembered.

        Raises:
            NotPermittedError: This user may not look there.
        """
        return None if self.recorded else read_hardware_addresses(self.files)

    def functions(self) -> Sequence[PciFunction]:
        """Return every function, in the order of addresses; costs no configuration cycle.

        Raises:
            BadInputError: A link of a recording leads out of it.
        """
        return self._listing().functions

    def state(self, function: PciFunction) -> FunctionState:
        """Return what sysfs says of one function's state.

        Raises:
            ConfigSpaceError: The function vanished.
            BadInputError: A link of a recording leads out of it.
        """
        known = self._states.get(function.address)
        return self.state_again(function) if known is None else known

    def state_again(self, function: PciFunction) -> FunctionState:
        """Return the state as it is now, and remember that; errors as ``state``."""
        now = read_state(self.files, self._path(function.address), function.address)
        self._states[function.address] = now
        return now

    def attribute(self, function: PciFunction, name: str) -> str | None:
        """Return what a sysfs attribute of a function holds, as ``power/control`` or ``resource``.

        None if there is none, or it cannot be read. Not for attributes that read registers.
        """
        key = (function.address, name)
        if key not in self._attributes:
            return self.attribute_again(function, name)
        return self._attributes[key]

    def attribute_again(self, function: PciFunction, name: str) -> str | None:
        """Return what it holds now, whatever it held before, and remember that."""
        now = self.files.text(f"{self._path(function.address)}/{name}")
        self._attributes[(function.address, name)] = now
        return now

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        """Write a sysfs attribute of a function.

        Raises:
            ConfigSpaceError: The function vanished, or the kernel refused the value.
            NotPermittedError: Not root.
        """
        write_kernel_file(self.files, f"{self._path(function.address)}/{name}", text)
        self.attribute_again(function, name)

    def group_type_again(self, number: int) -> str | None:
        """Return the type of a group's default domain as it is now; None if unreadable."""
        return self.files.text(f"{GROUPS}/{number}/type")

    def write_group_type(self, number: int, text: str) -> None:
        """Ask the kernel for another default domain of an IOMMU group; not of a recording.

        The kernel then sets ATS Enable of its functions by its own rules.

        Raises:
            InUseError: A driver or VFIO has a function of the group.
            NotPermittedError: Not root, or this is a recording, which has no kernel.
            ConfigSpaceError: There is no such group, or the kernel does not do it.
        """
        if self.recorded:
            raise NotPermittedError("a recorded host has no kernel to switch an IOMMU group's type")
        write_kernel_file(self.files, f"{GROUPS}/{number}/type", text)

    def link(self, function: PciFunction) -> LinkState:
        """Return what sysfs says of one function's link, which costs a configuration cycle.

        Raises:
            ConfigSpaceError: The function vanished.
            BadInputError: A link of a recording leads out of it.
        """
        return read_link(self.files, self._path(function.address), function.address)

    def config(self, function: PciFunction) -> FileConfigSpace:
        """Return the function's Configuration Space, which reads a register when asked for it.

        Raises:
            ConfigSpaceError: The function vanished, or is in D3cold and would have to be woken.
            NotPermittedError: The kernel keeps it from this user.
            BadInputError: A link of a recording leads out of it.
        """
        known = self._configs.get(function.address)
        if known is None:
            if self._watch is not None:
                self._watch(function.address)
            known = self._configs[function.address] = self._open_config(function.address)
        return known

    def write(self, function: PciFunction, write: MaskedWrite) -> None:
        """Write the masked bits of one register, keeping all others as they read just before.

        Raises:
            ConfigSpaceError: The function vanished, does not answer or is in D3cold.
            NotPermittedError: The kernel refused the write (not root, or lockdown).
        """
        self.config(function).write(write)

    def _open_config(self, address: PciAddress) -> FileConfigSpace:
        path = self._path(address)
        if self.files.text(f"{path}/power_state") == "D3cold":
            raise ConfigSpaceError(
                f"{address} is in D3cold and is not woken to be looked at",
                hint=f"wake it: echo on > /{DEVICES}/{address}/power/control",
            )
        config = self.files.path(f"{path}/config")
        if self.recorded:
            return RecordedConfigSpace(address, config, self._unread.get(address))
        return FileConfigSpace(address, config)

    def directory(self, function: PciFunction) -> str:
        """Return the function's directory below ``sys/devices``, relative to the root."""
        return self._path(function.address)

    def _path(self, address: PciAddress) -> str:
        """Return a function's directory: where it was found, else behind its link."""
        return self._listing().paths.get(address, f"{DEVICES}/{address}")

    def _listing(self) -> Listing:
        if self._listed is None:
            self._listed = list_functions(self.files)
        return self._listed
