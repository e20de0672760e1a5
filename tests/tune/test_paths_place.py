"""Places as ``nvidia-smi topo -m`` defines them in its legend."""

from model.functions import GPU, NIC, by_address, fabric, function
from model.small_fabrics import CASCADE, DEVICE, ROOTS, SWITCH

from pcietune.model.fabric import Fabric
from pcietune.registers.express import PortType
from pcietune.tune.paths.place import Place, place


def apart(
    host: Fabric, one: str, other: str, nodes: tuple[int | None, int | None] = (0, 0)
) -> Place:
    """Return the place of two functions, which is the same both ways round."""
    functions = by_address(host, one), by_address(host, other)
    found = place(host, *functions, nodes)
    assert place(host, *functions[::-1], nodes[::-1]) is found
    return found


def test_functions_of_one_device_are_one() -> None:
    assert apart(DEVICE, "01:00.0", "01:00.1") is Place.SAME


def test_virtual_functions_of_further_slots_are_of_the_same_device() -> None:
    nic = fabric(
        [function("00:01.0"), function("00:01.0 01:00.0", NIC), function("00:01.0 01:02.0", NIC)]
    )

    assert apart(nic, "01:00.0", "01:02.0") is Place.SAME


def test_one_switch_is_a_single_bridge() -> None:
    assert apart(SWITCH, "03:00.0", "04:00.0") is Place.PIX


def test_the_lower_switch_of_a_cascade_is_a_single_bridge() -> None:
    assert apart(CASCADE, "05:00.0", "06:00.0") is Place.PIX


def test_both_switches_of_a_cascade_are_several_bridges() -> None:
    assert apart(CASCADE, "05:00.0", "07:00.0") is Place.PXB


def test_two_slots_of_a_conventional_bus_are_behind_a_single_bridge() -> None:
    functions = [
        function("00:01.0"),
        function("00:01.0 01:00.0"),
        function("00:01.0 01:00.0 02:01.0", NIC),
        function("00:01.0 01:00.0 02:02.0", GPU),
    ]
    bus = Fabric(functions, {functions[1].address: PortType.PCIE_TO_PCI_BRIDGE})

    assert apart(bus, "02:01.0", "02:02.0") is Place.PIX


def test_root_ports_of_one_root_bus_have_a_host_bridge_between_them() -> None:
    assert apart(ROOTS, "01:00.0", "02:00.0") is Place.PHB


def test_switches_below_two_root_ports_of_one_root_bus_have_a_host_bridge_between_them() -> None:
    host = fabric(
        function(path, GPU if path.count(":") == 4 else ("1000:c010", 0x060400))
        for root in ("1", "2")
        for path in (
            f"00:0{root}.0",
            f"00:0{root}.0 {root}1:00.0",
            f"00:0{root}.0 {root}1:00.0 {root}2:00.0",
            f"00:0{root}.0 {root}1:00.0 {root}2:00.0 {root}3:00.0",
        )
    )

    assert apart(host, "13:00.0", "23:00.0") is Place.PHB


def test_integrated_devices_have_a_host_bridge_between_them() -> None:
    integrated = fabric([function("00:02.0", NIC), function("00:03.0", GPU)])

    assert apart(integrated, "00:02.0", "00:03.0") is Place.PHB


TWO_BRIDGES = fabric(
    [
        function("20:01.0"),
        function("40:01.0"),
        function("20:01.0 21:00.0", NIC),
        function("40:01.0 41:00.0", GPU),
    ]
)


def test_two_host_bridges_of_a_numa_node_are_a_node() -> None:
    assert apart(TWO_BRIDGES, "21:00.0", "41:00.0", (1, 1)) is Place.NODE


def test_two_numa_nodes_are_the_system() -> None:
    assert apart(TWO_BRIDGES, "21:00.0", "41:00.0", (0, 1)) is Place.SYS


def test_no_node_is_made_up_where_firmware_says_none() -> None:
    for nodes in ((-1, -1), (None, 0), (0, None), (-1, 0)):
        assert apart(TWO_BRIDGES, "21:00.0", "41:00.0", nodes) is Place.UNKNOWN
