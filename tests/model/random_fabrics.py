"""Random hosts of switches, for hypothesis."""

from dataclasses import dataclass

from hypothesis import strategies as st
from model.functions import GPU, NIC, fabric, function

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.role_name import RoleName


@dataclass(frozen=True)
class Switch:
    """A switch; each of its downstream ports carries a role's endpoint or a further switch."""

    below: tuple["RoleName | Switch", ...]


ROLES = st.sampled_from((RoleName.GPU, RoleName.NIC))


def _switch(
    below: st.SearchStrategy["RoleName | Switch"],
) -> st.SearchStrategy["RoleName | Switch"]:
    return st.lists(below, min_size=1, max_size=4).map(lambda held: Switch(tuple(held)))


ROOTS = st.lists(st.recursive(ROLES, _switch, max_leaves=8), min_size=1, max_size=4)
"""What stands below each root port of a host."""


@dataclass(frozen=True)
class Host:
    """A random host.

    Attributes:
        fabric: Its functions.
        roles: Which of them has which role.
    """

    fabric: Fabric
    roles: dict[PciAddress, RoleName]

    def of_role(self, role: RoleName) -> list[PciFunction]:
        """Return the functions of a role."""
        return [self.fabric.functions[a] for a, name in self.roles.items() if name is role]


def build(roots: list["RoleName | Switch"]) -> Host:
    """Number the buses of a host as firmware does, depth first, and give it its fabric."""
    builder = _Builder()
    for number, below in enumerate(roots):
        root = f"00:{number + 1:02x}.0"
        builder.functions.append(function(root))
        builder.add(root, below)
    return Host(fabric(builder.functions), builder.roles)


class _Builder:
    def __init__(self) -> None:
        self.functions: list[PciFunction] = []
        self.roles: dict[PciAddress, RoleName] = {}
        self._bus = 0

    def add(self, above: str, what: "RoleName | Switch") -> None:
        self._bus += 1
        path = f"{above} {self._bus:02x}:00.0"
        if isinstance(what, RoleName):
            endpoint = function(path, GPU if what is RoleName.GPU else NIC)
            self.functions.append(endpoint)
            self.roles[endpoint.address] = what
            return
        self.functions.append(function(path))
        self._bus += 1
        internal = self._bus
        for number, below in enumerate(what.below):
            port = f"{path} {internal:02x}:{number:02x}.0"
            self.functions.append(function(port))
            self.add(port, below)


HOSTS = ROOTS.map(build)
