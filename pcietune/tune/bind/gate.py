"""The gate: VFIO gets what the profile names, once that is as the profile wants it."""

from collections.abc import Callable, Collection
from functools import partial

from pcietune.address import PciAddress
from pcietune.model.binding import Bound
from pcietune.model.function import PciFunction
from pcietune.tune.bind.candidates import policy_of, wanted
from pcietune.tune.bind.judge import Judged, judge
from pcietune.tune.bind.run import bind
from pcietune.tune.bind.scene import Scene


def gate(
    scene: Scene, *, stop: Callable[[], bool], among: Collection[PciAddress] | None = None
) -> Bound:
    """Bind what the profile names and no driver has; apply takes nothing from a driver.

    Where the profile names a unit to wait for, a function gets its override only, which keeps
    other drivers off.

    Args:
        scene: What decides, and what does it.
        stop: Asked before each function whether to stop.
        among: Functions that it is about; None for all.
    """
    return bind(scene, look(scene, among), stop=stop, probes=partial(binds_at_once, scene))


def look(scene: Scene, among: Collection[PciAddress] | None = None) -> list[Judged]:
    """Return what the gate would do now; ``among`` as for ``gate``."""
    functions = [
        function
        for function in wanted(scene.host, scene.audited)
        if among is None or function.address in among
    ]
    asked = {function.address for function in functions}
    return judge(scene, functions, asked, takes=False, probes=partial(binds_at_once, scene))


def binds_at_once(scene: Scene, function: PciFunction) -> bool:
    """Return whether a function that the profile names waits for no unit."""
    return policy_of(scene.audited, function).after is None
