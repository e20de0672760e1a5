import pytest
from guest.plans import cell
from msgspec.structs import replace

from pcietune.guest.cpu_topology import CpuTopology, cpu_topology


@pytest.mark.parametrize(
    ("cpus", "threads", "topology"),
    [
        pytest.param((8, 8), (2, 2), CpuTopology(2, 4, 2), id="a socket for each cell"),
        pytest.param((8, 0), (2, 1), CpuTopology(1, 4, 2), id="a cell of memory only"),
        pytest.param((8, 4), (2, 2), CpuTopology(1, 6, 2), id="cells not alike"),
        pytest.param((8, 4), (2, 1), CpuTopology(1, 12, 1), id="threads not alike"),
        pytest.param((3, 3), (2, 2), CpuTopology(1, 6, 1), id="half a core"),
    ],
)
def test_each_cell_is_a_socket_if_all_are_alike(
    cpus: tuple[int, int], threads: tuple[int, int], topology: CpuTopology
) -> None:
    cells = [
        replace(cell(n, host_node=n, first_vcpu=0, vcpus=cpus[n]), threads=threads[n])
        for n in range(2)
    ]

    assert cpu_topology(cells) == topology
    assert topology.cpus == sum(cpus)


@pytest.mark.parametrize(
    ("topology", "last"),
    [
        # Of each: the socket's bits, then the core's, then the thread's.
        pytest.param(CpuTopology(1, 1, 1), 0, id="one"),
        pytest.param(CpuTopology(2, 4, 2), 0b1_11_1, id="no gaps"),
        pytest.param(CpuTopology(2, 33, 2), 0b1_100000_1, id="gaps"),
        pytest.param(CpuTopology(3, 5, 1), 0b10_100, id="three sockets"),
    ],
)
def test_sockets_and_cores_begin_at_bits_of_the_apic_id(topology: CpuTopology, last: int) -> None:
    assert topology.last_apic_id == last
