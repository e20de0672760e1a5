import pytest
from guest.layout.hosts import GIB, MIB
from guest.plans import a800_two_gpus, l20_one_gpu_and_a_vf, two_gpus_on_ports
from msgspec.structs import replace

from pcietune.guest.layout.budget import address_bits, budget_of, budget_warnings


def test_each_bridge_takes_a_bus_number_and_pcie_0_one() -> None:
    plan = two_gpus_on_ports()

    budget = budget_of(plan.bridges, plan.functions)

    assert (budget.buses, budget.spare_buses) == (5, 250)


def test_a_large_bar_with_a_small_one_takes_twice_its_size() -> None:
    # SeaBIOS makes a port's window a multiple of its largest BAR: 256 GiB for each GPU; with the
    # NICs and the site's own devices that is more than 512 GiB.
    plan = a800_two_gpus()

    assert budget_of(plan.bridges, plan.functions).memory_64_mib == 1024 * 1024


def test_a_window_is_never_smaller_than_qemus_own() -> None:
    plan = two_gpus_on_ports()
    small = [replace(each, bars_64=[32 * MIB]) for each in plan.functions]

    assert budget_of(plan.bridges, small).memory_64_mib == 32 * 1024


def test_what_fills_a_power_of_two_gets_the_next_since_the_site_has_devices_too() -> None:
    plan = two_gpus_on_ports()
    full = [replace(each, bars_64=[16 * GIB]) for each in plan.functions]

    assert budget_of(plan.bridges, full).memory_64_mib == 128 * 1024


@pytest.mark.parametrize(
    ("physical_function", "mib"),
    [
        # A BAR of 16 MiB with a ROM rounds up to 32, for each of two; a VF has no ROM.
        pytest.param(None, 32, id="function"),
        pytest.param("0000:23:00.7", 16, id="VF"),
    ],
)
def test_the_window_below_4_gib_has_room_for_roms(physical_function: str | None, mib: int) -> None:
    plan = l20_one_gpu_and_a_vf()
    both = [
        replace(each, bars_32=[16 * MIB], physical_function=physical_function)
        for each in plan.functions
    ]

    assert budget_of(plan.bridges, both).memory_32_mib == 2 * mib


def test_more_below_4_gib_than_a_vm_surely_has_is_told() -> None:
    plan = two_gpus_on_ports()
    # Four BARs round up to twice their size with the ROMs beside them.
    fitting = [replace(each, bars_32=[64 * MIB]) for each in plan.functions]
    large = [replace(each, bars_32=[128 * MIB]) for each in plan.functions]

    assert list(budget_warnings(budget_of(plan.bridges, fitting))) == []
    (warning,) = budget_warnings(budget_of(plan.bridges, large))
    assert "need 1024 MiB there" in warning


@pytest.mark.parametrize(
    ("window_gib", "memory_gib", "bits"),
    [
        # A window of 32 GiB behind 28 GiB of memory begins at 32 GiB and ends at 64.
        pytest.param(32, 28, 36, id="just below a multiple"),
        pytest.param(32, 29, 37, id="just above it"),
        pytest.param(8192, 2000, 44, id="eight GPUs of 256 GiB"),
    ],
)
def test_addresses_reach_to_the_end_of_the_window(
    window_gib: int, memory_gib: int, bits: int
) -> None:
    plan = two_gpus_on_ports()

    budget = replace(plan.budget, memory_64_mib=window_gib * 1024)

    assert address_bits(budget, memory_gib * 1024) == bits
