"""Names and numbers hold together whatever is chosen."""

from random import Random

from guest.layout.hosts import below_switch
from guest.plans import cell
from hypothesis import given
from hypothesis import strategies as st

from pcietune.guest.kinds import Kind
from pcietune.guest.layout.lay_out import lay_out
from pcietune.guest.wish import Expanders, Layout, Wish

choices = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=1)


@given(choice=choices, layout=st.sampled_from(Layout), expanders=st.sampled_from(Expanders))
def test_no_number_is_given_twice_and_each_range_holds_what_is_below(
    choice: set[tuple[int, int]], layout: Layout, expanders: Expanders
) -> None:
    several = [
        below_switch(Kind.NIC if port % 2 else Kind.GPU, 0x20 * (group + 1), port, node=group // 2)
        for group, port in choice
    ]
    cells = [cell(n, host_node=n, first_vcpu=4 * n, vcpus=4) for n in range(2)]

    laid = lay_out(several, cells, Wish(layout=layout, expanders=expanders))

    buses = [bridge.bus for bridge in laid.bridges]
    assert len(set(buses)) == len(buses)
    assert min(buses) == 0x20
    assert max(buses) < 0x100
    by_name = {bridge.name: bridge for bridge in laid.bridges}
    for bridge in laid.bridges:
        assert bridge.bus <= bridge.last_bus
        if bridge.parent != "pcie.0":
            above = by_name[bridge.parent]
            assert above.bus < bridge.bus <= bridge.last_bus <= above.last_bus
    addresses = [each.guest_address for each in laid.functions]
    assert sorted(addresses) == addresses
    assert len({*addresses, *(b.address for b in laid.bridges)}) == len(buses) + len(several)
    assert len({each.name for each in laid.functions}) == len(several)


@given(choice=choices, seed=st.randoms(use_true_random=False))
def test_the_order_of_the_choice_changes_nothing(
    choice: set[tuple[int, int]], seed: Random
) -> None:
    several = [below_switch(Kind.GPU, 0x20 * (group + 1), port) for group, port in choice]
    shuffled = several.copy()
    seed.shuffle(shuffled)

    assert lay_out(shuffled, [], Wish()) == lay_out(several, [], Wish())
