import pytest
from model.functions import GPU, NIC, by_address, fabric, function, port_type

from pcietune.model.fabric import Fabric, Route
from pcietune.registers.express import PortType

ONE_SWITCH = [
    function("20:01.0"),
    function("20:01.0 21:00.0"),
    function("20:01.0 21:00.0 22:00.0"),
    function("20:01.0 21:00.0 22:04.0"),
    function("20:01.0 21:00.0 22:00.0 23:00.0", GPU),
    function("20:01.0 21:00.0 22:04.0 24:00.0", NIC),
    function("20:01.0 21:00.0 22:04.0 24:00.1", NIC),
]
LEAF = "20:01.0 21:00.0 22:00.0 23:00.0"
OTHER_LEAF = "20:01.0 21:00.0 22:04.0 27:00.0"
CASCADE = [
    *ONE_SWITCH[:4],
    function(LEAF),
    function(f"{LEAF} 24:00.0"),
    function(f"{LEAF} 24:04.0"),
    function(f"{LEAF} 24:00.0 25:00.0", GPU),
    function(f"{LEAF} 24:04.0 26:00.0", NIC),
    function(OTHER_LEAF),
    function(f"{OTHER_LEAF} 28:00.0"),
    function(f"{OTHER_LEAF} 28:00.0 29:00.0", GPU),
]


def route(built: Fabric, requester: str, completer: str) -> tuple[str, str, str] | None:
    """Return the addresses of component, request and completion control port."""
    found: Route | None = built.route(by_address(built, requester), by_address(built, completer))
    if found is None:
        return None
    ports = (found.component, found.request_port, found.completion_port)
    return tuple(str(port.address)[5:] for port in ports)  # type: ignore[return-value] # of three


def test_in_one_switch_the_ports_right_above_both_decide() -> None:
    assert route(fabric(ONE_SWITCH), "24:00.0", "23:00.0") == ("21:00.0", "22:04.0", "22:00.0")


def test_the_ports_change_their_parts_with_requester_and_completer() -> None:
    assert route(fabric(ONE_SWITCH), "23:00.0", "24:00.0") == ("21:00.0", "22:00.0", "22:04.0")


def test_across_a_cascade_the_ports_of_the_top_switch_decide() -> None:
    assert route(fabric(CASCADE), "26:00.0", "29:00.0") == ("21:00.0", "22:00.0", "22:04.0")


def test_in_one_leaf_of_a_cascade_the_ports_of_that_leaf_decide() -> None:
    assert route(fabric(CASCADE), "26:00.0", "25:00.0") == ("23:00.0", "24:04.0", "24:00.0")


def test_two_functions_of_one_device_do_not_part_in_a_switch() -> None:
    assert route(fabric(ONE_SWITCH), "24:00.0", "24:00.1") is None


def test_functions_below_two_root_ports_do_not_part_in_a_switch() -> None:
    far = [
        function("40:01.0"),
        function("40:01.0 41:00.0"),
        function("40:01.0 41:00.0 42:00.0"),
        function("40:01.0 41:00.0 42:00.0 43:00.0", GPU),
    ]

    assert route(fabric([*ONE_SWITCH, *far]), "24:00.0", "43:00.0") is None


def test_functions_right_below_one_root_port_do_not_part_in_a_switch() -> None:
    built = fabric(
        [function("20:01.0"), function("20:01.0 21:00.0", GPU), function("20:01.0 21:01.0", NIC)]
    )

    assert route(built, "21:01.0", "21:00.0") is None


def test_below_two_upstream_ports_of_one_device_functions_do_not_part_in_a_switch() -> None:
    second = [
        function("20:01.0 21:00.1"),
        function("20:01.0 21:00.1 32:00.0"),
        function("20:01.0 21:00.1 32:00.0 33:00.0", GPU),
    ]

    assert route(fabric([*ONE_SWITCH, *second]), "24:00.0", "33:00.0") is None


def test_an_endpoint_inside_a_switch_has_no_port_that_could_decide() -> None:
    inside = function("20:01.0 21:00.0 22:1f.0", NIC)
    built = fabric([*ONE_SWITCH, inside])

    assert route(built, "22:1f.0", "23:00.0") is None
    assert route(built, "23:00.0", "22:1f.0") is None


def test_a_port_whose_type_is_not_known_is_what_its_place_says() -> None:
    built = fabric(CASCADE)

    assert port_type(built, "20:01.0") is PortType.ROOT_PORT
    assert port_type(built, "21:00.0") is PortType.UPSTREAM_PORT
    assert port_type(built, "22:00.0") is PortType.DOWNSTREAM_PORT
    assert port_type(built, "23:00.0") is PortType.UPSTREAM_PORT
    assert port_type(built, "24:04.0") is PortType.DOWNSTREAM_PORT


def test_what_a_port_says_of_itself_comes_before_its_place() -> None:
    bridge = function("20:01.0 21:00.0")
    built = Fabric([function("20:01.0"), bridge], {bridge.address: PortType.PCIE_TO_PCI_BRIDGE})

    assert built.port_type(bridge) is PortType.PCIE_TO_PCI_BRIDGE


@pytest.mark.parametrize(
    ("place", "claim", "taken_for"),
    [
        ("20:01.0", PortType.ENDPOINT, PortType.ROOT_PORT),
        ("20:01.0", PortType.UPSTREAM_PORT, PortType.ROOT_PORT),
        ("21:00.0", PortType.ENDPOINT, PortType.UPSTREAM_PORT),
        ("21:00.0", PortType.ROOT_PORT, PortType.UPSTREAM_PORT),
        ("22:04.0", PortType.RC_EVENT_COLLECTOR, PortType.DOWNSTREAM_PORT),
        ("22:04.0", PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT),
        ("22:04.0", PortType.PCIE_TO_PCI_BRIDGE, PortType.DOWNSTREAM_PORT),
    ],
)
def test_a_bridge_that_says_what_cannot_be_there_is_what_its_place_says(
    place: str, claim: PortType, taken_for: PortType
) -> None:
    address = by_address(fabric(ONE_SWITCH), place).address
    built = Fabric(ONE_SWITCH, {address: claim})

    assert port_type(built, place) is taken_for
    assert built.false_port_type(by_address(built, place)) is claim


@pytest.mark.parametrize(
    ("place", "claim", "taken_for"),
    [
        ("21:00.0", PortType.DOWNSTREAM_PORT, PortType.UPSTREAM_PORT),
        ("22:04.0", PortType.UPSTREAM_PORT, PortType.DOWNSTREAM_PORT),
    ],
)
def test_switch_ports_that_are_mixed_up_are_what_linux_takes_them_for(
    place: str, claim: PortType, taken_for: PortType
) -> None:
    address = by_address(fabric(ONE_SWITCH), place).address
    built = Fabric(ONE_SWITCH, {address: claim})

    assert port_type(built, place) is taken_for
    assert built.false_port_type(by_address(built, place)) is None


def test_below_a_bridge_that_vanished_a_port_may_be_anything() -> None:
    port = function("20:01.0 21:00.0 22:00.0")
    built = Fabric([function("20:01.0"), port], {port.address: PortType.DOWNSTREAM_PORT})

    assert built.port_type(port) is PortType.DOWNSTREAM_PORT
    assert built.false_port_type(port) is None


def test_two_hundred_bridges_in_a_row_that_all_say_what_cannot_be_take_no_time() -> None:
    buses = [f"{bus:02x}:00.0" for bus in range(200)]
    row = [function(" ".join(buses[: depth + 1])) for depth in range(200)]
    built = Fabric(row, {each.address: PortType.ENDPOINT for each in row})

    assert built.port_type(row[-1]) is PortType.UPSTREAM_PORT


def test_the_topmost_switch_of_a_cascade_is_the_one_at_the_root() -> None:
    built = fabric(CASCADE)

    assert built.topmost_switch(by_address(built, "29:00.0")) == by_address(built, "21:00.0")


def test_a_function_right_below_a_root_port_is_below_no_switch() -> None:
    built = fabric([function("20:01.0"), function("20:01.0 21:00.0", NIC)])

    assert built.topmost_switch(by_address(built, "21:00.0")) is None


def test_below_a_port_is_all_that_hangs_there_and_children_are_on_its_bus() -> None:
    built = fabric(CASCADE)
    port = by_address(built, "22:04.0")

    assert [str(f.address) for f in built.below(port)] == [
        "0000:27:00.0",
        "0000:28:00.0",
        "0000:29:00.0",
    ]
    assert [str(f.address) for f in built.children(port)] == ["0000:27:00.0"]
    assert built.below(by_address(built, "29:00.0")) == []


def test_a_bridge_that_vanished_is_left_out_of_the_ports_above() -> None:
    built = fabric(f for f in ONE_SWITCH if str(f.address) != "0000:22:04.0")

    above = built.ports_above(by_address(built, "24:00.0"))

    assert [str(port.address) for port in above] == ["0000:20:01.0", "0000:21:00.0"]
