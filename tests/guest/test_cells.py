"""A VM's NUMA nodes: what they are bound to, and what is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from guest.plans import a800_two_gpus
from hypothesis import given
from hypothesis import strategies as st

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.cells import Cells, cells_for
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Cell, Plan
from pcietune.guest.shares import most_that_fits, split
from pcietune.guest.wish import Wish
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.numa_node import Hugepages, NumaNode

GIB = 1 << 20  # in KiB
HUGEPAGES = "/sys/devices/system/node/node0/hugepages/hugepages-1048576kB"
HOST_GPUS = {0: 4, 1: 4}


def node(  # noqa: PLR0913 -- one for each fact
    number: int,
    *,
    cores: int = 32,
    threads: int = 2,
    memory_gib: int = 1024,
    distances: tuple[int, ...] = (),
    pages: Mapping[int, Hugepages] | None = None,
) -> NumaNode:
    """Return a node numbered as Linux does on x86: the second threads after all the first."""
    first = number * cores
    siblings = {
        cpu: core
        for index in range(first, first + cores)
        for core in [tuple(index + thread * 1024 for thread in range(threads))]
        for cpu in core
    }
    return NumaNode(
        number=number,
        cpus=tuple(siblings),
        siblings=siblings,
        memory_kib=memory_gib * GIB,
        distances=distances,
        hugepages=pages or {},
    )


def chosen(kind: Kind, numa_node: int | None, bus: int = 0x23) -> Chosen:
    function = PciFunction(
        address=PciAddress(0, bus, 0, 0),
        ports=(),
        vendor=0x10DE,
        device=0x20F3,
        subsystem_vendor=0,
        subsystem_device=0,
        class_code=0x030200,
        driver="vfio-pci",
    )
    state = FunctionState(
        group=1,
        iommu_unit=None,
        numa_node=numa_node,
        enable_count=0,
        physical_function=None,
        virtual_functions=(),
        vfio=True,
    )
    return Chosen(function, kind, state, None, None, None, None, ())


def gpus(*nodes: int | None) -> list[Chosen]:
    return [chosen(Kind.GPU, number, 0x20 + index) for index, number in enumerate(nodes)]


def made(
    functions: Sequence[Chosen],
    wish: Wish | None = None,
    nodes: Mapping[int, NumaNode] | None = None,
) -> Cells:
    return cells_for(functions, nodes or {0: node(0), 1: node(1)}, wish or Wish(), HOST_GPUS)


def taking(cells: Cells) -> Plan:
    plan = a800_two_gpus()
    plan.cells[:] = cells.cells
    return plan


def test_there_is_a_cell_for_each_node_with_a_gpu_or_nic() -> None:
    cells = made([*gpus(1), chosen(Kind.NIC, 0)]).cells

    assert [(cell.cell, cell.host_node) for cell in cells] == [(0, 0), (1, 1)]


def test_an_nvswitch_makes_no_cell() -> None:
    cells = made([*gpus(1), chosen(Kind.NVSWITCH, 0)]).cells

    assert [cell.host_node for cell in cells] == [1]


def test_a_vm_of_nvswitches_alone_is_where_they_are() -> None:
    cells = made([chosen(Kind.NVSWITCH, 1)], Wish(cpus=4, memory_mib=4096)).cells

    assert [cell.host_node for cell in cells] == [1]


def test_by_default_a_vm_has_the_share_of_its_gpus() -> None:
    [cell] = made(gpus(0, 0)).cells

    assert len(cell.host_cpus) == 32  # of 64, by two of four GPUs
    assert cell.memory_mib == 460 * 1024  # of 1024 GiB, less a tenth, which is the host's


def test_of_a_node_without_gpus_a_vm_has_the_share_of_one_as_on_the_others() -> None:
    nodes = {0: node(0), 1: node(1)}

    cells = cells_for([*gpus(0), chosen(Kind.NIC, 1)], nodes, Wish(), {0: 8}).cells

    assert [len(cell.host_cpus) for cell in cells] == [8, 8]  # of 64 each


def test_a_vm_has_no_more_than_all_of_a_node() -> None:
    [cell] = cells_for(gpus(0, 0), {0: node(0)}, Wish(), {}).cells  # GPUs nobody counted

    assert len(cell.host_cpus) == 64


def test_of_hugepages_a_vm_has_its_share_of_all() -> None:
    nodes = {0: node(0, pages={GIB: Hugepages(100, 100)})}

    [cell] = made(gpus(0), Wish(hugepage_kib=GIB), nodes).cells

    assert cell.memory_mib == 25 * 1024
    assert cell.hugepage_kib == GIB


def test_ordinary_memory_is_what_no_hugepage_has() -> None:
    nodes = {0: node(0, memory_gib=1000, pages={GIB: Hugepages(900, 900)})}

    with pytest.raises(BadInputError) as raised:
        made(gpus(0), Wish(memory_mib=200 * 1024), nodes)

    assert str(raised.value) == ("node 0: 200 GiB of memory are wanted, and 100 GiB are there")
    assert raised.value.hint == "--memory 100G fits"


def test_siblings_are_pinned_side_by_side() -> None:
    [cell] = made(gpus(0), Wish(cpus=4)).cells

    assert cell.host_cpus == [30, 1054, 31, 1055]
    assert cell.vcpus == [0, 1, 2, 3]
    assert cell.threads == 2


def test_the_first_cores_stay_the_hosts_as_long_as_they_can() -> None:
    [cell] = made(gpus(0), Wish(cpus=62)).cells

    assert set(range(32)) - set(cell.host_cpus) == {0}


def test_vcpus_that_are_no_whole_cores_are_cores_to_the_vm() -> None:
    cells = made(gpus(0), Wish(cpus=5))

    [cell] = cells.cells
    assert cell.threads == 1
    assert cell.host_cpus == [29, 30, 1054, 31, 1055]
    assert cells.warnings == (
        "5 vCPUs are no whole cores of 2 threads, so the VM takes each for a core: 6 would be",
    )


def test_vcpus_are_shared_out_by_gpus() -> None:
    cells = made(gpus(0, 0, 0, 1), Wish(cpus=16, memory_mib=8192)).cells

    assert [len(cell.vcpus) for cell in cells] == [12, 4]
    assert [cell.memory_mib for cell in cells] == [6144, 2048]
    assert cells[1].vcpus == [12, 13, 14, 15]


def test_no_cpu_of_another_vm_is_taken() -> None:
    first = made(gpus(0, 0))

    [second] = made(gpus(0, 0), Wish(taken=(taking(first),))).cells

    assert not set(first.cells[0].host_cpus) & set(second.host_cpus)
    assert second.memory_mib == first.cells[0].memory_mib


def test_a_vm_that_takes_the_last_cpus_is_warned_of() -> None:
    first = made(gpus(0, 0))

    second = made(gpus(0, 0), Wish(taken=(taking(first),)))

    assert first.warnings == ()
    assert "".join(second.warnings) == (
        "no CPU of node 0 is left to the host, for its interrupts and QEMU's own threads: a"
        " smaller --cpus leaves some"
    )


def test_cpus_that_are_not_free_are_refused_with_what_fits() -> None:
    first = made(gpus(0), Wish(cpus=40, memory_mib=1024))

    with pytest.raises(BadInputError) as raised:
        made(gpus(0, 0), Wish(cpus=26, taken=(taking(first),)))

    assert str(raised.value) == "node 0: 26 CPUs are wanted, and 24 of its 64 are free"
    assert raised.value.hint == "--cpus 24 fits"


def test_hugepages_that_others_hold_are_refused_with_what_fits() -> None:
    nodes = {0: node(0, pages={GIB: Hugepages(100, 10)})}

    with pytest.raises(BadInputError) as raised:
        made(gpus(0), Wish(hugepage_kib=GIB), nodes)

    assert str(raised.value) == (
        "node 0: 25 GiB of memory are wanted in hugepages of 1 GiB, and 10 GiB are there"
    )
    assert raised.value.hint == "--memory 10G fits"


def test_hugepages_of_another_vms_plan_are_not_there() -> None:
    nodes = {0: node(0, pages={GIB: Hugepages(100, None)})}
    first = made(gpus(0), Wish(hugepage_kib=GIB, memory_mib=90 * 1024), nodes)

    with pytest.raises(BadInputError, match="and 10 GiB are there"):
        made(gpus(0), Wish(hugepage_kib=GIB, taken=(taking(first),)), nodes)


def test_that_a_recording_does_not_tell_free_hugepages_is_said() -> None:
    nodes = {0: node(0, pages={GIB: Hugepages(100, None)})}

    cells = made(gpus(0), Wish(hugepage_kib=GIB), nodes)

    assert "".join(cells.warnings) == (
        "how many of node 0's hugepages are free is not known, which a recording does not tell:"
        " all that no plan has are taken for free"
    )


@pytest.mark.parametrize(
    ("pages", "hint"),
    [
        ({2048: Hugepages(5, 5), GIB: Hugepages(0, 0)}, "it has some of 2 MiB"),
        ({}, f"reserve them: echo N > {HUGEPAGES}/nr_hugepages"),
    ],
)
def test_hugepages_of_a_size_that_is_not_there_are_refused(
    pages: Mapping[int, Hugepages], hint: str
) -> None:
    with pytest.raises(BadInputError, match="node 0 has no hugepages of 1 GiB") as raised:
        made(gpus(0), Wish(hugepage_kib=GIB), {0: node(0, pages=pages)})

    assert raised.value.hint == hint


def test_memory_that_is_no_number_of_hugepages_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInputError, match="is not a number of hugepages of 1 GiB") as raised:
        made(gpus(0), Wish(hugepage_kib=GIB, memory_mib=5000))

    assert raised.value.hint == "--memory 4G is"


def test_a_small_share_is_in_mebibytes() -> None:
    [cell] = made(gpus(0), nodes={0: replace(node(0), memory_kib=2048 * 1024 + 40)}).cells

    assert cell.memory_mib == 460  # of 2048 MiB: nine tenths, and of these a quarter


def test_memory_that_does_not_fit_is_told_in_mebibytes_where_it_is_no_gibibyte() -> None:
    nodes = {0: replace(node(0), memory_kib=2048 * 1024 + 40)}

    with pytest.raises(BadInputError, match="2049 MiB of memory are wanted, and 2 GiB are there"):
        made(gpus(0), Wish(memory_mib=2049), nodes)


def test_a_vm_without_memory_is_refused() -> None:
    with pytest.raises(BadInputError, match="a VM without memory is none") as raised:
        made(gpus(0), Wish(memory_mib=0))

    assert raised.value.hint == "--memory 1M is"


def test_a_node_that_would_give_no_cpu_is_refused() -> None:
    with pytest.raises(BadInputError, match="would have no CPU") as raised:
        made(gpus(0, 0, 1), Wish(cpus=2))

    assert raised.value.hint == "--cpus 4 is the least"  # a core of each: 2 of 3 GPUs have one
    made(gpus(0, 0, 1), Wish(cpus=4))


def test_a_node_that_would_give_no_memory_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"node 1: .* would have no memory there") as raised:
        made(gpus(0, 0, 0, 0, 1), Wish(memory_mib=1))

    assert raised.value.hint == "--memory 3M is the least"  # a fifth of 2 is less than half of one
    made(gpus(0, 0, 0, 0, 1), Wish(memory_mib=3))


def test_a_node_without_a_free_cpu_asks_for_other_gpus() -> None:
    first = made(gpus(0), Wish(cpus=64, memory_mib=1024))

    with pytest.raises(BadInputError, match="0 of its 64 are free") as raised:
        made(gpus(0), Wish(taken=(taking(first),)))

    assert raised.value.hint == "name other GPUs"


def test_distances_are_the_hosts_between_the_nodes_of_the_vm() -> None:
    nodes = {
        0: node(0, distances=(10, 12, 32)),
        1: node(1, distances=(12, 10, 30)),
        2: node(2, distances=(32, 30, 10)),
    }

    cells = made(gpus(0, 2), nodes=nodes).cells

    assert [cell.distances for cell in cells] == [[10, 32], [32, 10]]


def test_distances_that_are_not_told_are_the_kernels_own() -> None:
    assert [cell.distances for cell in made(gpus(0, 1)).cells] == [[10, 20], [20, 10]]


def test_of_a_function_whose_node_is_not_told_that_is_said() -> None:
    cells = made(gpus(0, -1))

    assert [cell.host_node for cell in cells.cells] == [0]
    assert cells.warnings == (
        "0000:21:00.0: the host does not tell its NUMA node, so the VM is told none",
    )


def test_without_nodes_nothing_is_bound_and_that_is_said() -> None:
    cells = cells_for(gpus(0), None, Wish(cpus=4, memory_mib=8192), {})

    assert cells.cells == (
        Cell(
            cell=0,
            host_node=None,
            vcpus=[0, 1, 2, 3],
            host_cpus=[],
            threads=1,
            memory_mib=8192,
            hugepage_kib=None,
            distances=[10],
        ),
    )
    assert len(cells.warnings) == 1


@pytest.mark.parametrize("wish", [Wish(), Wish(cpus=4), Wish(memory_mib=1024)])
def test_without_nodes_cpus_and_memory_have_to_be_said(wish: Wish) -> None:
    with pytest.raises(BadInputError, match="not known") as raised:
        cells_for(gpus(-1), {0: node(0), 1: node(1)}, wish, {})

    assert raised.value.hint is not None
    assert raised.value.hint.startswith("give --cpus and --memory")


@given(
    threads=st.sampled_from([1, 2]),
    cores=st.integers(4, 64),
    wanted=st.lists(st.tuples(st.lists(st.integers(0, 1), min_size=1), st.integers(1, 80))),
)
def test_no_cpu_is_given_twice_and_cores_are_whole(
    threads: int, cores: int, wanted: list[tuple[list[int], int]]
) -> None:
    nodes = {number: node(number, cores=cores, threads=threads) for number in (0, 1)}
    plans: tuple[Plan, ...] = ()
    for on, cpus in wanted:
        wish = Wish(cpus=cpus, memory_mib=1024, taken=plans)
        try:
            cells = made(gpus(*on), wish, nodes)
        except BadInputError:
            continue
        plans += (taking(cells),)
        assert sum(len(cell.vcpus) for cell in cells.cells) == cpus
        assert sum(cell.memory_mib for cell in cells.cells) == 1024
        assert [cpu for cell in cells.cells for cpu in cell.vcpus] == list(range(cpus))
        for cell in cells.cells:
            assert cell.host_node is not None
            assert len(cell.host_cpus) == len(cell.vcpus)
            assert set(cell.host_cpus) <= set(nodes[cell.host_node].cpus)
            for first in range(0, len(cell.host_cpus), cell.threads):
                core = cell.host_cpus[first : first + cell.threads]
                assert cell.threads == 1 or nodes[cell.host_node].siblings[core[0]] == tuple(core)

    given_out = [cpu for plan in plans for cell in plan.cells for cpu in cell.host_cpus]
    assert len(given_out) == len(set(given_out))


@given(total=st.integers(0, 10**6), weights=st.lists(st.integers(1, 8), min_size=1, max_size=8))
def test_parts_add_up_and_are_at_most_one_unit_off(total: int, weights: list[int]) -> None:
    parts = split(total, weights)

    assert sum(parts) == total
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part * sum(weights) - total * weight) < sum(weights)


@given(sizes=st.lists(st.tuples(st.integers(0, 10**4), st.integers(1, 8)), min_size=1, max_size=8))
def test_what_is_said_to_fit_does(sizes: list[tuple[int, int]]) -> None:
    room, weights = zip(*sizes, strict=True)

    parts = split(most_that_fits(room, weights), weights)

    assert all(part <= has for part, has in zip(parts, room, strict=True))
