"""What a VM has that its plan has not, and which is of the kind that a plan gives."""

from collections.abc import Collection, Iterator

from pcietune.guest.check.row import Aspect, Row, Verdict
from pcietune.guest.kinds import Kind
from pcietune.model.function import PciFunction
from pcietune.tune.match.survey import is_gpu

_NVIDIA, _MELLANOX = 0x10DE, 0x15B3
_BRIDGE_OTHER, _INFINIBAND = 0x0680, 0x0207
_NETWORK = 0x02  # base class
_WHY = (
    "it was passed besides the plan, or the plan is another VM's: no plan for other VMs knows that "
    "it is taken; take it away, or plan the VM again with it"
)


def check_unplanned(
    functions: Collection[PciFunction], matched: Collection[PciFunction]
) -> Iterator[Row]:
    """Yield each GPU, RDMA NIC and NVSwitch that is none of the plan's.

    Args:
        functions: All of the VM's.
        matched: Those that are the plan's.
    """
    planned = {function.address for function in matched}
    for function in functions:
        kind = _kind(function)
        if kind is not None and function.address not in planned:
            yield Row(
                str(function.address),
                Aspect.UNPLANNED,
                Verdict.DIFFERS,
                None,
                f"{kind} {function.id}",
                _WHY,
            )


def _kind(function: PciFunction) -> Kind | None:
    """Return what a plan would call a function; None for what no plan gives (virtio, a VGA)."""
    if is_gpu(function):
        return Kind.GPU
    if function.device_class == _INFINIBAND or (
        function.vendor == _MELLANOX and function.class_code >> 16 == _NETWORK
    ):
        return Kind.NIC
    if function.vendor == _NVIDIA and function.device_class == _BRIDGE_OTHER:
        return Kind.NVSWITCH
    return None
