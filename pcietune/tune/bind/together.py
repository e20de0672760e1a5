"""Which functions go to VFIO only together: those of a slot, and those of an IOMMU group."""

from collections.abc import Hashable, Iterable, Iterator

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.function import PciFunction
from pcietune.tune.bind.scene import Scene

Unit = tuple[PciFunction, ...]


def companions(scene: Scene, function: PciFunction) -> list[PciFunction]:
    """Return the other functions of a function's slot; a VF has none, and is none.

    A slot is reset as one, and what a driver keeps of it would see that.
    """
    functions = scene.audited.fabric.functions
    if function.is_pci_bridge or _is_virtual(scene, function):
        return []
    found = (functions.get(address) for address in scene.drivers.in_slot(function))
    return [
        other
        for other in found
        if other is not None and other != function and not _is_virtual(scene, other)
    ]


def units(scene: Scene, functions: Iterable[PciFunction]) -> list[Unit]:
    """Return the functions and their companions, split into what goes together.

    Functions of one IOMMU group belong to one VM at a time.
    """
    chosen: dict[PciAddress, PciFunction] = {}
    for function in functions:
        for each in (function, *companions(scene, function)):
            chosen[each.address] = each
    found: list[tuple[set[Hashable], list[PciFunction]]] = []
    for _, function in sorted(chosen.items()):
        keys, members = set(_keys(scene, function)), [function]
        apart = []
        for other_keys, others in found:
            if keys.isdisjoint(other_keys):
                apart.append((other_keys, others))
            else:
                keys, members = keys | other_keys, [*others, *members]
        found = [*apart, (keys, members)]
    return [tuple(sorted(members, key=lambda f: f.address)) for _, members in found]


def _keys(scene: Scene, function: PciFunction) -> Iterator[Hashable]:
    try:
        state = scene.host.state(function)
    except PcietuneError:  # it vanished
        yield function.address
        return
    yield function.address if state.physical_function is not None else function.slot
    if isinstance(state.group, int):
        yield state.group


def _is_virtual(scene: Scene, function: PciFunction) -> bool:
    try:
        return scene.host.state(function).physical_function is not None
    except PcietuneError:
        return False
