"""What NCCL would call near stays what it is on the host."""

from itertools import combinations

from guest.layout.hosts import below_switches, forests
from guest.plans import cell
from hypothesis import given

from pcietune.guest.kinds import BridgeKind
from pcietune.guest.layout.lay_out import Laid, lay_out
from pcietune.guest.wish import Wish


def _distance(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Return what NCCL calls two functions by the switches above each, topmost first.

    By its src/graph/paths.cc: PIX where one PCI node is between them, PXB where several are, PHB
    where they meet at the CPU.
    """
    if not one or not other or one[0] != other[0]:
        return "PHB"
    return "PIX" if one == other else "PXB"


def _in_vm(laid: Laid) -> dict[str, tuple[str, ...]]:
    above: dict[str, tuple[str, ...]] = {"pcie.0": ()}
    for bridge in laid.bridges:
        own = (bridge.name,) if bridge.kind is BridgeKind.UPSTREAM_PORT else ()
        above[bridge.name] = above[bridge.parent] + own
    return {function.address: above[function.parent] for function in laid.functions}


@given(paths=forests)
def test_two_functions_are_as_near_in_the_vm_as_on_the_host(paths: list[tuple[int, ...]]) -> None:
    functions = [below_switches(path, index) for index, path in enumerate(paths)]

    laid = lay_out(functions, [cell(0, host_node=0, first_vcpu=0, vcpus=1)], Wish())

    in_vm = _in_vm(laid)
    for one, other in combinations(functions, 2):
        host = _distance(*(tuple(s.location for s in each.switches) for each in (one, other)))
        vm = _distance(*(in_vm[str(each.function.address)] for each in (one, other)))
        assert vm == host
