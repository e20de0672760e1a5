from dataclasses import replace

import pytest
from guest.layout.hosts import GEN4, below_switch, chosen, switch
from guest.plans import a800_two_gpus, cell

from pcietune.errors import BadInputError
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import BridgeKind, Firmware, Kind
from pcietune.guest.layout.lay_out import Laid, lay_out
from pcietune.guest.wish import Expanders, Layout, Wish
from pcietune.model.bars import Bar
from pcietune.model.function import LinkState

CELLS = (
    cell(0, host_node=0, first_vcpu=0, vcpus=4, distances=(10, 21)),
    cell(1, host_node=1, first_vcpu=4, vcpus=4, distances=(21, 10)),
)
GPU, NIC = Kind.GPU, Kind.NIC


def _tree(laid: Laid) -> list[str]:
    """Return each bridge and function as a path of names from the root bus."""
    paths = {"pcie.0": ""}
    for bridge in laid.bridges:
        paths[bridge.name] = f"{paths[bridge.parent]}/{bridge.name}"
    return [f"{paths[function.parent]}/{function.name}"[1:] for function in laid.functions]


def _addresses(laid: Laid) -> dict[str, str]:
    return {function.name: function.guest_address for function in laid.functions}


def test_functions_of_one_switch_are_below_one_switch_as_in_the_plan_written_by_hand() -> None:
    several = [below_switch(kind, 0x20, n) for n, kind in enumerate((GPU, GPU, NIC, NIC))]

    laid = lay_out(several, CELLS[:1], Wish())

    by_hand = a800_two_gpus()
    assert _tree(laid) == [
        "pxb0/rp0/up0/dp0/gpu0",
        "pxb0/rp0/up0/dp1/gpu1",
        "pxb0/rp0/up0/dp2/nic0",
        "pxb0/rp0/up0/dp3/nic1",
    ]
    assert _addresses(laid) == {each.name: each.guest_address for each in by_hand.functions}
    assert [(b.name, b.kind, b.parent, b.bus, b.last_bus) for b in laid.bridges] == [
        (b.name, b.kind, b.parent, b.bus, b.last_bus) for b in by_hand.bridges
    ]
    assert [b.stands_for for b in laid.bridges] == [b.stands_for for b in by_hand.bridges]
    assert [b.cell for b in laid.bridges] == [b.cell for b in by_hand.bridges]


def test_each_node_has_an_expander_with_numbers_to_spare() -> None:
    several = [below_switch(GPU, 0x40, 0, node=1), below_switch(GPU, 0x20, 0, node=0)]

    laid = lay_out(several, CELLS, Wish())

    expanders = [each for each in laid.bridges if each.kind is BridgeKind.EXPANDER]
    assert [(e.name, e.address, e.bus, e.cell) for e in expanders] == [
        ("pxb0", "0000:00:10.0", 0x20, 0),
        ("pxb1", "0000:00:11.0", 0x40, 1),
    ]
    assert _addresses(laid) == {"gpu0": "0000:23:00.0", "gpu1": "0000:43:00.0"}
    assert [each.cell for each in laid.functions] == [0, 1]


def test_each_switch_group_has_an_expander_if_that_is_wished() -> None:
    several = [below_switch(GPU, 0x60, 0), below_switch(GPU, 0x20, 0), below_switch(NIC, 0x20, 1)]

    one = lay_out(several, CELLS[:1], Wish())
    two = lay_out(several, CELLS[:1], Wish(expanders=Expanders.GROUP))

    assert _tree(one) == ["pxb0/rp0/up0/dp0/gpu0", "pxb0/rp0/up0/dp1/nic0", "pxb0/rp1/up1/dp2/gpu1"]
    assert _tree(two) == ["pxb0/rp0/up0/dp0/gpu0", "pxb0/rp0/up0/dp1/nic0", "pxb1/rp1/up1/dp2/gpu1"]
    assert [each.cell for each in two.bridges if each.kind is BridgeKind.EXPANDER] == [0, 0]


def test_where_no_node_is_known_an_expander_has_none() -> None:
    laid = lay_out([below_switch(GPU, 0x20, 0, node=-1)], CELLS[:1], Wish())

    assert (laid.bridges[0].cell, laid.bridges[0].bus) == (None, 0x20)
    assert (laid.functions[0].cell, laid.functions[0].numa_node) == (None, None)


def test_what_is_below_one_switch_stays_so_where_only_one_function_tells_its_node() -> None:
    several = [below_switch(GPU, 0x40, 0, node=None), below_switch(NIC, 0x40, 1, node=1)]

    laid = lay_out(several, CELLS, Wish())

    assert _tree(laid) == ["pxb0/rp0/up0/dp0/gpu0", "pxb0/rp0/up0/dp1/nic0"]
    assert laid.bridges[0].cell == 1


def test_a_function_without_a_switch_has_a_root_port_of_its_own() -> None:
    nvswitches = [chosen(Kind.NVSWITCH, f"0000:8{n}:00.0", f"0000:80:0{n}.0") for n in (1, 2)]

    laid = lay_out([*nvswitches, below_switch(GPU, 0x20, 0)], CELLS[:1], Wish())

    assert _tree(laid) == ["pxb0/rp0/up0/dp0/gpu0", "pxb0/rp1/nvswitch0", "pxb0/rp2/nvswitch1"]
    assert _addresses(laid)["nvswitch1"] == "0000:25:00.0"


def test_in_layout_ports_each_slot_has_a_root_port() -> None:
    several = [below_switch(GPU, 0x20, 0), below_switch(NIC, 0x20, 1)]

    laid = lay_out(several, CELLS[:1], Wish(layout=Layout.PORTS))

    assert _tree(laid) == ["pxb0/rp0/gpu0", "pxb0/rp1/nic0"]
    assert _addresses(laid) == {"gpu0": "0000:21:00.0", "nic0": "0000:22:00.0"}
    assert {each.switch for each in laid.functions} == {"0000:20:00.0/00.0"}


def _cascaded(kind: Kind, inner: int, port: int) -> Chosen:
    """Return a function below switch ``inner`` below the switch at 21:00.0, or right below that."""
    root, outer, outer_port = "0000:20:00.0", "0000:21:00.0", f"0000:22:{inner:02x}.0"
    own = f"0000:{0x30 + 0x10 * inner:02x}:00.0"
    bus = 0x30 + 0x10 * inner + 1
    own_port = f"0000:{bus:02x}:{port:02x}.0"
    return chosen(
        kind,
        f"0000:{bus + 1 + port:02x}:00.0",
        *(root, outer, outer_port, own, own_port),
        switches=(switch(outer, root), switch(own, root, outer, outer_port)),
    )


def test_switches_below_a_switch_are_kept_where_they_tell_functions_apart() -> None:
    several = [_cascaded(GPU, 0, 0), _cascaded(NIC, 0, 1), _cascaded(GPU, 1, 0)]

    tree = _tree(lay_out(several, CELLS[:1], Wish()))

    assert tree == [
        "pxb0/rp0/up0/dp0/up1/dp1/gpu0",
        "pxb0/rp0/up0/dp0/up1/dp2/nic0",
        "pxb0/rp0/up0/dp3/up2/dp4/gpu1",
    ]


def test_switches_below_a_switch_are_one_with_it_where_all_functions_are_below_one() -> None:
    laid = lay_out([_cascaded(GPU, 1, 0), _cascaded(NIC, 1, 1)], CELLS[:1], Wish())

    assert _tree(laid) == ["pxb0/rp0/up0/dp0/gpu0", "pxb0/rp0/up0/dp1/nic0"]
    assert laid.bridges[2].stands_for == "0000:20:00.0/00.0"


def test_a_companion_of_the_same_slot_is_a_further_function_and_another_has_a_port() -> None:
    audio = chosen(Kind.COMPANION, "0000:41:00.1", "0000:40:01.0")
    serial = chosen(Kind.COMPANION, "0000:42:00.0", "0000:40:02.0")
    gpu = chosen(GPU, "0000:41:00.0", "0000:40:01.0", companions=(audio, serial))

    laid = lay_out([gpu], CELLS[:1], Wish())

    assert _tree(laid) == ["pxb0/rp0/gpu0", "pxb0/rp0/gpu0-1", "pxb0/rp1/gpu0-2"]
    assert list(_addresses(laid).values()) == ["0000:21:00.0", "0000:21:00.1", "0000:22:00.0"]
    assert [each.function for each in laid.functions] == [0, 1, 0]


@pytest.mark.parametrize(
    ("link", "port", "speed", "width", "shown"),
    [
        pytest.param(GEN4, GEN4, "16.0 GT/s PCIe", 16, ("16", 16), id="both alike"),
        pytest.param(
            LinkState("32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16),
            LinkState("32.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 8),
            *("32.0 GT/s PCIe", 8, ("16", 8)),
            id="faster than QEMU's",
        ),
        pytest.param(
            GEN4,
            LinkState("8.0 GT/s PCIe", 4, "8.0 GT/s PCIe", 4),
            *("8.0 GT/s PCIe", 4, ("8", 4)),
            id="slower",
        ),
        pytest.param(None, None, None, None, (None, None), id="not known"),
    ],
)
def test_a_root_port_shows_the_links_most(
    link: LinkState | None,
    port: LinkState | None,
    speed: str | None,
    width: int | None,
    shown: tuple[str | None, int | None],
) -> None:
    gpu = chosen(GPU, "0000:41:00.0", "0000:40:01.0", link=link, port_link=port)

    laid = lay_out([gpu], CELLS[:1], Wish())

    assert (laid.functions[0].link_speed, laid.functions[0].link_width) == (speed, width)
    assert (laid.bridges[1].speed, laid.bridges[1].width) == shown


def test_a_switchs_root_port_shows_what_the_hosts_root_port_runs_at() -> None:
    link = LinkState("8.0 GT/s PCIe", 8, "32.0 GT/s PCIe", 16)

    laid = lay_out([below_switch(GPU, 0x20, 0, root_link=link)], CELLS[:1], Wish())

    assert (laid.bridges[1].speed, laid.bridges[1].width) == ("8", 8)


def test_a_switch_tells_the_hosts_link_above_it_whole_and_no_port_does() -> None:
    link = LinkState("32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16)

    laid = lay_out([below_switch(GPU, 0x20, 0, root_link=link)], CELLS[:1], Wish())

    assert [(each.link_speed, each.link_width) for each in laid.bridges] == [
        (None, None), (None, None), ("32.0 GT/s PCIe", 16), (None, None)
    ]  # fmt: skip


def test_bars_that_are_not_known_are_told() -> None:
    laid = lay_out([chosen(GPU, "0000:41:00.0", "0000:40:01.0", bars=None)], CELLS[:1], Wish())

    (warning,) = laid.warnings
    assert warning.startswith("gpu0 (0000:41:00.0): its BARs are not known")


@pytest.mark.parametrize(
    ("gpus", "firmware", "warned"),
    [(9, Firmware.SEABIOS, True), (8, Firmware.SEABIOS, False), (9, Firmware.OVMF, False)],
)
def test_more_io_bars_than_seabios_surely_has_room_for_are_told(
    gpus: int, firmware: Firmware, *, warned: bool
) -> None:
    with_ports = (Bar(0xE000, 128, 0x40101),)  # as a GeForce's resource has it
    several = [replace(below_switch(GPU, 0x20, n), bars=with_ports) for n in range(gpus)]

    laid = lay_out(several, CELLS[:1], Wish(firmware=firmware))

    assert any("halts before any kernel" in each for each in laid.warnings) is warned


def test_a_clique_is_of_gpus_alone() -> None:
    several = [below_switch(GPU, 0x20, 0), below_switch(GPU, 0x20, 1), below_switch(NIC, 0x20, 2)]

    assert [f.clique for f in lay_out(several, CELLS, Wish(clique=True)).functions] == [0, 0, None]
    assert {f.clique for f in lay_out(several, CELLS, Wish()).functions} == {None}


def _many(count: int) -> list[Chosen]:
    """Return NICs that are each below a switch of their own."""
    return [
        chosen(
            NIC,
            f"{domain:04x}:{bus + 3:02x}:00.0",
            *(f"{domain:04x}:{bus:02x}:00.0", f"{domain:04x}:{bus + 1:02x}:00.0"),
            f"{domain:04x}:{bus + 2:02x}:00.0",
            switches=(switch(f"{domain:04x}:{bus + 1:02x}:00.0", f"{domain:04x}:{bus:02x}:00.0"),),
        )
        for domain, bus in (divmod(4 * n, 0x100) for n in range(count))
    ]


def test_as_many_functions_as_there_are_bus_numbers_fit_and_not_one_more() -> None:
    # 256 numbers less the 32 of pcie.0, one for the expander, and three for each: 74.3
    laid = lay_out(_many(74), CELLS[:1], Wish())
    assert laid.bridges[0].last_bus == 0x20 + 3 * 74

    with pytest.raises(BadInputError, match="need 226 bus numbers, and 224 are free") as error:
        lay_out(_many(75), CELLS[:1], Wish())
    assert "--layout ports" in error.value.hint

    with pytest.raises(BadInputError, match="need 301 bus numbers") as error:
        lay_out(_many(300), CELLS[:1], Wish(layout=Layout.PORTS))
    assert error.value.hint == "223 of its 300 functions fit"


def test_more_root_ports_than_slots_are_functions_of_slots() -> None:
    laid = lay_out(_many(40), CELLS[:1], Wish(layout=Layout.PORTS))

    assert [(b.device, b.function) for b in laid.bridges[1:]] == [divmod(n, 8) for n in range(40)]
    assert laid.bridges[10].address == "0000:20:01.1"
    assert len({(b.chassis, b.slot) for b in laid.bridges[1:]}) == 40


def test_more_root_buses_than_there_are_places_are_refused() -> None:
    with pytest.raises(BadInputError, match="16 root buses, and has places for 15") as error:
        lay_out(_many(16), CELLS[:1], Wish(expanders=Expanders.GROUP))

    assert "--expanders node" in error.value.hint
