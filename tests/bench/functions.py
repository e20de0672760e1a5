"""The machine's functions by name: where they are, and their registers changed while it runs."""

from collections.abc import Sequence

from bench.config_patches import Patch, link_capabilities
from bench.errors import GuestError
from bench.fabric import Fabric, Function
from bench.memory import ABSENT, ConfigSpace, SavedConfigSpace, find_config_spaces
from bench.qemu import Qemu
from bench.virtual_functions import find_virtual_functions


class Functions:
    """The functions of a running machine."""

    def __init__(self, qemu: Qemu, fabric: Fabric) -> None:
        """Make the functions in ``qemu``, which stands still, what ``fabric`` says.

        Raises:
            LookupError: This QEMU is laid out differently in memory.
        """
        self._qemu = qemu
        self._described = {function.device_id: function for function in fabric.functions}
        self._spaces: dict[str, ConfigSpace] = {}
        self._vanished: dict[str, SavedConfigSpace] = {}
        self._shape([function for function in fabric.functions if function.plugged])

    def plug(self, name: str) -> None:
        """Put an endpoint into its slot, while the machine runs.

        Raises:
            GuestError: The machine has no such function, or it is there.
            LookupError: This QEMU is laid out differently in memory.
        """
        function = self._described.get(name)
        if function is None or name in self._spaces:
            raise GuestError(f"{name} cannot be plugged in")
        with self._qemu.stopped():
            arguments = iter(function.arguments)
            for kind, value in zip(arguments, arguments, strict=True):
                self._qemu.tell({"-drive": "drive_add 0", "-device": "device_add"}[kind], value)
            self._shape([function])

    def _shape(self, functions: Sequence[Function]) -> None:
        names = [function.device_id for function in functions]
        self._spaces |= find_config_spaces(self._qemu.pid, self._qemu.memory, names)
        for function in functions:
            space = self._spaces[function.device_id]
            for patch in function.patches(space.read()):
                space.write(patch)

    def location(self, name: str) -> str:
        """Return where a function is, as the kernel's pci= options take it.

        Raises:
            GuestError: The machine has no such function.
        """
        self._space(name)
        return self._described[name].location

    def poke(self, name: str, patch: Patch) -> None:
        """Change what a function reads as, and which bits take a write.

        Raises:
            GuestError: The machine has no such function.
        """
        space = self._space(name)
        with self._qemu.stopped():
            space.write(patch)

    def vanish(self, name: str) -> None:
        """Make a function read as all ones and ignore writes.

        Raises:
            GuestError: The machine has no such function, or it has vanished already.
        """
        space = self._space(name)
        if name in self._vanished:
            raise GuestError(f"{name} has vanished already")
        with self._qemu.stopped():
            self._vanished[name] = space.save()
            space.restore(ABSENT)

    def reappear(self, name: str) -> None:
        """Make a function that vanished what it was before.

        Raises:
            GuestError: It has not vanished.
        """
        if name not in self._vanished:
            raise GuestError(f"{name} has not vanished")
        with self._qemu.stopped():
            self._space(name).restore(self._vanished.pop(name))

    def inject_error(self, name: str, error: str) -> None:
        """Have a port notice and report an error (Advanced Error Reporting).

        Raises:
            GuestError: The machine has no such function, or it cannot report that.
        """
        space = self._space(name)
        with self._qemu.stopped():
            before = space.read()
            answer = self._qemu.tell("pcie_aer_inject_error", name, error)
            for patch in link_capabilities(before):  # QEMU 7.2 writes over half of them
                space.write(patch)
        if "id:" not in answer:
            raise GuestError(f"{name} {error}: {answer}")

    def shape_vfs(self, name: str, number: int) -> None:
        """Make virtual functions, which the guest has switched on, what the machine's file says.

        Raises:
            GuestError: The machine has no such function.
            LookupError: It has fewer.
        """
        physical = self._space(name)
        with self._qemu.stopped():
            for space in find_virtual_functions(physical, number):
                for patch in self._described[name].vf_patches(space.read()):
                    space.write(patch)

    def _space(self, name: str) -> ConfigSpace:
        if name not in self._spaces:
            raise GuestError(f"the machine has no function {name!r}")
        return self._spaces[name]


def location_of(path: str) -> str:
    """Return a device's location from its path, /sys/devices/pci0000:20/0000:20:00.0/..."""
    _, root, *below = path.removeprefix("/sys/devices/").split("/")
    return "/".join([root, *(address.rpartition(":")[2] for address in below)])
