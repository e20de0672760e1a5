"""Pass functions that were added through the gate, where the udev hook could not.

A hook gives way to whoever holds the lock, as watch does while it repairs.
"""

from collections.abc import Collection

from pcietune.address import PciAddress
from pcietune.model.binding import GIVEN, Binding, BindState
from pcietune.tune.bind.gate import gate, look
from pcietune.tune.bind.judge import flat
from pcietune.tune.bind.scene import Scene
from pcietune.tune.watch.notice import Notice, NoticeKind, about


def hand_over(scene: Scene, added: Collection[PciAddress]) -> list[Notice]:
    """Give VFIO what the profile names of the functions that were added, and no other.

    Whatever somebody took back from VFIO by hand is not given to it again.

    Returns:
        What to tell: of what VFIO has already, nothing.
    """
    had = {b.function.address for b in flat(look(scene, added)) if b.state in GIVEN}
    bound = gate(scene, stop=lambda: False, among=added)
    told = [_notice(b) for b in bound.bindings if b.wanted and b.function.address not in had]
    return [*told, *(Notice(NoticeKind.FAILED, str(error)) for error in bound.errors)]


def _notice(binding: Binding) -> Notice:
    driver = binding.vfio_driver
    if binding.state in GIVEN:
        text = f"given to VFIO: {binding.driver} has it"
        return about(binding.function, NoticeKind.BOUND, text, driver=driver)
    why = "; ".join(binding.why)
    if binding.state is BindState.WAITING:
        text = f"kept for VFIO by its driver_override {binding.override}: {why}"
        return about(binding.function, NoticeKind.BOUND, text, driver=driver)
    text = f"not given to VFIO: {why}"
    return about(binding.function, NoticeKind.FAILED, text, driver=driver)
