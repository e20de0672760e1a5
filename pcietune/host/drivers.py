"""Who has a function, read from sysfs; and the files by which the kernel gives it to another."""

import os
import subprocess
from collections.abc import Sequence

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.functions import DEVICES
from pcietune.host.kernel_file import write_kernel_file
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN, NotKnown

DRIVERS = "sys/bus/pci/drivers"
PROBE = "sys/bus/pci/drivers_probe"
_TIME_TO_LOAD_S = 15.0  # less than the boot unit has
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # a unit may have none that has modprobe


class HostDrivers:
    """The drivers of a host; a DriverAccess."""

    def __init__(self, host: SysfsHost) -> None:
        self._host = host
        self._files = host.files

    def driver(self, function: PciFunction) -> str | NotKnown | None:
        """Return the name of the bound driver; None if there is none, NOT_KNOWN of a dump."""
        name = self._files.link_name(f"{self._host.directory(function)}/driver")
        return name if name is not None or self._files.complete else NOT_KNOWN

    def in_slot(self, function: PciFunction) -> Sequence[PciAddress]:
        """Return the functions that share a function's slot, itself included, in order."""
        slot = str(function.address).rpartition(".")[0]
        names = [f"{slot}.{number}" for number in range(8)]
        return [PciAddress.parse(n) for n in names if self._files.exists(f"{DEVICES}/{n}")]

    def knows(self, driver: str) -> bool:
        """Return whether the kernel knows a driver now."""
        return self._files.exists(f"{DRIVERS}/{driver}")

    def load(self, driver: str) -> None:
        """Have the kernel know a driver.

        Raises:
            NotPermittedError: It cannot be loaded.
        """
        if self.knows(driver):
            return
        self._refuse_recording()
        path = os.environ.get("PATH", "")
        try:
            done = subprocess.run(  # noqa: S603 -- the name is one of modules.alias or vfio-pci
                ["modprobe", "--", driver],  # noqa: S607 -- where it is depends on the distribution
                check=False,
                capture_output=True,
                env={"PATH": f"{path}:{_PATH}" if path else _PATH},
                text=True,
                errors="replace",
                timeout=_TIME_TO_LOAD_S,
            )
            said = done.stderr.strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotPermittedError(f"{driver} cannot be loaded: {error}") from error
        if done.returncode != 0:
            raise NotPermittedError(
                f"{driver} cannot be loaded: {said or f'modprobe exits {done.returncode}'}",
                hint="is it part of this kernel's packages, and not forbidden in /etc/modprobe.d?",
            )

    def unbind(self, function: PciFunction) -> None:
        """Take a function from the driver that has it.

        Raises:
            ConfigSpaceError: The function vanished, or no driver has it.
            NotPermittedError: Not root.
            InUseError: The kernel is busy with it.
        """
        self._refuse_recording()
        path = f"{self._host.directory(function)}/driver/unbind"
        write_kernel_file(self._files, path, str(function.address))

    def probe(self, function: PciFunction) -> None:
        """Have the kernel look for a driver of a function that has none.

        Raises:
            ConfigSpaceError: The function vanished, or the driver failed.
            NotPermittedError: Not root.
            InUseError: The kernel is busy with it.
        """
        self._refuse_recording()
        write_kernel_file(self._files, PROBE, str(function.address))

    def _refuse_recording(self) -> None:
        """Do nothing if there is a kernel that could act.

        Raises:
            BadInputError: This is a recording.
        """
        if self._files.recorded:
            raise BadInputError(
                "a recorded host has no kernel that could bind a function",
                hint="pcietune vfio bind --dry-run --from FILE says what would be done",
            )
