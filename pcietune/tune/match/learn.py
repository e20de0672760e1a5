"""Learn from a host what its kind has: its roles and layout, never its ACS or ATS settings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted
from pcietune.model.access import HostAccess
from pcietune.model.card import cards
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import (
    Counts,
    FunctionPattern,
    Layout,
    Match,
    Profile,
    Role,
    RolePlace,
    SwitchGroupLayout,
)
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup, switch_groups
from pcietune.tune.match.choose import MatchResult
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.match.survey import concerned, is_gpu, survey

_ANY_NIC = FunctionPattern((), (0x0200, 0x0207))  # Ethernet, InfiniBand
_GENERIC = "gpu-rdma"
_NAME = re.compile(r"[^./\s][^/]*")  # what is hidden is no profile, and a slash is of a path
_NVSWITCH = FunctionPattern(("10de:*",), (0x0680,))  # other bridge: ids change by generation


@dataclass(frozen=True, slots=True)
class Learned:
    """What a host has.

    Attributes:
        product: Its DMI product name; None if it is not known.
        roles: By name, as a profile would have them.
        layout: As found, which need not be as it should be.
        groups: The switch groups that were found.
        nodes_told: Whether the source tells on which NUMA nodes functions are.
        others: GPUs with none of the ids of those in switch groups, which have no role.
    """

    product: str | None
    roles: Mapping[RoleName, Role]
    layout: Layout
    groups: tuple[SwitchGroup, ...]
    nodes_told: bool
    others: tuple[PciFunction, ...]


def learn(host: HostAccess) -> Learned:
    """Return what ``host`` has.

    GPUs are those that share a switch with a NIC, and all others of their ids; where there is no
    such switch all GPUs are, and any NIC that a switch with GPUs may get.

    Raises:
        BadInputError: It has no GPU.
    """
    every = [function for function in host.functions() if is_gpu(function)]
    if not every:
        raise BadInputError(
            "there is no GPU on this host to learn from",
            hint="lspci -nn lists its functions; one that fell off the bus is missing there, too",
        )
    sketch = _sketch(_pattern(every), _ANY_NIC)
    fabric = survey(host, lambda functions: concerned(functions, [sketch]))
    groups = switch_groups(fabric, assign_roles(sketch, fabric, host), sketch)
    if groups:
        sketch = _sketch(
            _pattern(gpu for group in groups for gpu in group.gpus),
            FunctionPattern(_ids(nic for group in groups for nic in group.nics), _ANY_NIC.classes),
        )
    roles = assign_roles(sketch, fabric, host)
    having = {name: _having(name, fabric, roles) for name in RoleName}
    nvswitches = having[RoleName.NVSWITCH]
    learned = dict(sketch.roles)
    learned[RoleName.NVSWITCH] = Role(_pattern(nvswitches))
    if not nvswitches:
        del learned[RoleName.NVSWITCH]
    gpu_ids = sketch.roles[RoleName.GPU].pattern.ids
    return Learned(
        product=host.platform().dmi.get("product_name"),
        roles=learned,
        layout=_layout(host, fabric, having, groups),
        groups=groups,
        nodes_told=None not in _nodes(host, [*having[RoleName.GPU], *having[RoleName.NIC]]),
        others=tuple(gpu for gpu in every if gpu.id not in gpu_ids),
    )


def parent_of(results: Sequence[MatchResult]) -> str:
    """Return the name of the generic profile that a learned one is to extend."""
    generic = [result.profile.name for result in results if result.fits and result.profile.generic]
    return generic[0] if generic else _GENERIC


def rivals_of(learned: Learned, results: Sequence[MatchResult]) -> tuple[str, ...]:
    """Return which profiles would describe the host as well as the learned one does.

    None of two such is chosen, unless they have one name, by which a site's replaces a shipped one.
    """
    return tuple(
        result.profile.name
        for result in results
        if result.fits and result.rank == (True, True, bool(learned.product), True)
    )


def name_of(learned: Learned) -> str:
    """Return what a learned profile is to be called: the product's name, if that is known."""
    words = "".join(each if each.isalnum() else " " for each in (learned.product or "").lower())
    return "-".join(words.split()) or "learned"


def check_name(name: str) -> None:
    """Do nothing if a profile may be called so: its file is, and ``--profile`` takes it for a name.

    Raises:
        BadInputError: It may not.
    """
    if not (name.isprintable() and _NAME.fullmatch(name)) or name.endswith(".yaml"):
        raise BadInputError(
            f"a profile cannot be called {quoted(name)}",
            hint="a name is that of its file, without the folder and .yaml",
        )


def _sketch(gpus: FunctionPattern, nics: FunctionPattern) -> Profile:
    """Return a profile that wants nothing, to find roles and switch groups by."""
    return Profile(
        name="learned",
        summary="",
        sha256="",
        generic=False,
        match=Match(gpus),
        roles={
            RoleName.GPU: Role(gpus),
            RoleName.NIC: Role(nics, RolePlace.GPU_SWITCH),
            RoleName.NVSWITCH: Role(_NVSWITCH),
        },
        layout=Layout(),
        modes={},
    )


def _layout(
    host: HostAccess,
    fabric: Fabric,
    having: Mapping[RoleName, Sequence[PciFunction]],
    groups: Sequence[SwitchGroup],
) -> Layout:
    counted = {name: having[name] for name in (RoleName.GPU, RoleName.NVSWITCH) if having[name]}
    layout = Layout(
        cards={name: (len(cards(fabric, functions)),) for name, functions in counted.items()},
        numa_nodes=_numa_nodes(host, [*having[RoleName.GPU], *having[RoleName.NIC]]),
    )
    if not groups:
        return layout
    nics = [cards(fabric, group.nics) for group in groups]
    shape = SwitchGroupLayout(
        (len(groups),),
        {
            RoleName.GPU: _different(len(cards(fabric, group.gpus)) for group in groups),
            RoleName.NIC: _different(map(len, nics)),
        },
    )
    ports = _different(len(card) for each in nics for card in each)
    return replace(layout, nic_ports=ports, switch_groups=shape)


def _pattern(functions: Iterable[PciFunction]) -> FunctionPattern:
    """Return the pattern of exactly the ids and classes of ``functions``."""
    found = list(functions)
    return FunctionPattern(_ids(found), tuple(sorted({each.device_class for each in found})))


def _ids(functions: Iterable[PciFunction]) -> tuple[str, ...]:
    return tuple(sorted({function.id for function in functions}))


def _having(
    name: RoleName, fabric: Fabric, roles: Mapping[PciAddress, RoleName]
) -> list[PciFunction]:
    return [fabric.functions[address] for address, role in roles.items() if role is name]


def _different(numbers: Iterable[int]) -> Counts:
    return tuple(sorted(set(numbers)))


def _numa_nodes(host: HostAccess, functions: Iterable[PciFunction]) -> Counts:
    """Return over how many NUMA nodes functions are spread; empty where one has none."""
    nodes = _nodes(host, functions)
    return () if None in nodes or -1 in nodes else (len(nodes),)


def _nodes(host: HostAccess, functions: Iterable[PciFunction]) -> set[int | None]:
    return {host.state(function).numa_node for function in functions}
