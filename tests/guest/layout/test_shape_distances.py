"""What NCCL would call near stays what it is on the host."""

from itertools import combinations

from guest.layout.hosts import chosen, switch
from guest.plans import cell
from hypothesis import given
from hypothesis import strategies as st

from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import BridgeKind, Kind
from pcietune.guest.layout.lay_out import Laid, lay_out
from pcietune.guest.wish import Wish

# Of each function the numbers of the switches above it, of which the last is its own.
forests = st.lists(
    st.lists(st.integers(0, 2), min_size=0, max_size=4).map(tuple), min_size=2, max_size=7
)


def _distance(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """Return what NCCL calls two functions by the switches above each, topmost first.

    By its src/graph/paths.cc: PIX where one PCI node is between them, PXB where several are, PHB
    where they meet at the CPU.
    """
    if not one or not other or one[0] != other[0]:
        return "PHB"
    return "PIX" if one == other else "PXB"


def _on_host(path: tuple[int, ...], index: int) -> Chosen:
    """Return a function below switches; the Device Number of each port is that of what is below."""
    ports = ["0000:20:00.0"] if path else [f"0000:f0:{index:02x}.0"]
    switches = []
    for depth in range(len(path)):
        top = path[0] * 0x30 + 0x30
        bus = top + sum(number * 7 + 1 for number in path[1 : depth + 1]) * 2 + depth
        if depth == 0:
            ports = [f"0000:20:{path[0]:02x}.0"]
        upstream = f"{depth:04x}:{bus:02x}:00.0"
        switches.append(switch(upstream, *ports))
        below = path[depth + 1] if depth + 1 < len(path) else 8 + index
        ports += [upstream, f"{depth:04x}:{bus + 1:02x}:{below:02x}.0"]
    return chosen(Kind.NIC, f"00ff:{index:02x}:00.0", *ports, switches=tuple(switches))


def _in_vm(laid: Laid) -> dict[str, tuple[str, ...]]:
    above: dict[str, tuple[str, ...]] = {"pcie.0": ()}
    for bridge in laid.bridges:
        own = (bridge.name,) if bridge.kind is BridgeKind.UPSTREAM_PORT else ()
        above[bridge.name] = above[bridge.parent] + own
    return {function.address: above[function.parent] for function in laid.functions}


@given(paths=forests)
def test_two_functions_are_as_near_in_the_vm_as_on_the_host(paths: list[tuple[int, ...]]) -> None:
    functions = [_on_host(path, index) for index, path in enumerate(paths)]

    laid = lay_out(functions, [cell(0, host_node=0, first_vcpu=0, vcpus=1)], Wish())

    in_vm = _in_vm(laid)
    for one, other in combinations(functions, 2):
        host = _distance(*(tuple(s.location for s in each.switches) for each in (one, other)))
        vm = _distance(*(in_vm[str(each.function.address)] for each in (one, other)))
        assert vm == host
