"""The doors to a machine, as Protocols: what tune needs, and pcietune.host provides."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pcietune.address import PciAddress
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.numa_node import NumaNode
from pcietune.model.platform import Platform
from pcietune.model.protection import HostUse
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import MaskedWrite


class HostAccess(Protocol):
    """A host, live or recorded. Everything that is read is remembered for the run."""

    @property
    def recorded(self) -> bool:
        """Whether this is a recording, not the machine that pcietune runs on."""

    @property
    def privileged(self) -> bool:
        """Whether this user may read all of Configuration Space and write it."""

    def platform(self) -> Platform:
        """Return what the host is apart from its functions."""

    def functions(self) -> Sequence[PciFunction]:
        """Return every function, in the order of addresses; costs no configuration cycle."""

    def knows_config_acs(self) -> bool | None:
        """Return whether this kernel has the ``pci=config_acs=`` option; None if not known.

        Not remembered, and slow: the kernel's symbols are looked through.
        """

    def numa_nodes(self) -> Mapping[int, NumaNode] | None:
        """Return the host's NUMA nodes by number, which is not remembered; None if not known.

        Raises:
            NotPermittedError: This user may not look there.
        """

    def use(self) -> HostUse | None:
        """Return what the host uses its own functions for; None if a recording does not tell."""

    def hardware_addresses(self) -> Mapping[str, Collection[PciAddress]] | None:
        """Return the functions by their MAC addresses, in lower case; None of a recording.

        Not remembered.

        Raises:
            NotPermittedError: This user may not look there.
        """

    def state(self, function: PciFunction) -> FunctionState:
        """Return what sysfs says of one function's state.

        Raises:
            ConfigSpaceError: The function vanished.
        """

    def state_again(self, function: PciFunction) -> FunctionState:
        """Return the state as it is now, whatever it was before; errors as ``state``."""

    def attribute(self, function: PciFunction, name: str) -> str | None:
        """Return what a sysfs attribute of a function holds, as ``power/control`` or ``resource``.

        None if there is none, or it cannot be read. Not for attributes that read registers.
        """

    def attribute_again(self, function: PciFunction, name: str) -> str | None:
        """Return what it holds now, whatever it held before; errors as ``attribute``."""

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        """Write a sysfs attribute of a function.

        Raises:
            ConfigSpaceError: The function vanished, or the kernel refused the value.
            NotPermittedError: Not root.
        """

    def group_type_again(self, number: int) -> str | None:
        """Return the type of a group's default domain as it is now; None if unreadable."""

    def write_group_type(self, number: int, text: str) -> None:
        """Ask the kernel for another default domain of an IOMMU group; not of a recording.

        The kernel then sets ATS Enable of its functions by its own rules.

        Raises:
            InUseError: A driver or VFIO has a function of the group.
            NotPermittedError: Not root.
            ConfigSpaceError: There is no such group, or the kernel does not do it.
        """

    def link(self, function: PciFunction) -> LinkState:
        """Return what sysfs says of one function's link, which costs a configuration cycle.

        Raises:
            ConfigSpaceError: The function vanished.
        """

    def config(self, function: PciFunction) -> ConfigSpace:
        """Return the function's Configuration Space, which reads a register when asked for it.

        Raises:
            ConfigSpaceError: The function vanished, or is in D3cold and would have to be woken.
            NotPermittedError: The kernel keeps it from this user.
        """

    def write(self, function: PciFunction, write: MaskedWrite) -> None:
        """Write the masked bits of one register, keeping all others as they read just before.

        Raises:
            ConfigSpaceError: The function vanished or does not answer.
            NotPermittedError: The kernel refused the write (not root, or lockdown).
        """
