import pytest
from registers.layout import AER, SR_IOV, Layout, express_function

from pcietune.errors import ConfigSpaceError
from pcietune.registers.sriov import SrIov


def physical_function(control: int = 0) -> Layout:
    """Return a function with SR-IOV at 180h; every register differs from every other."""
    return (
        express_function((0x100, AER), (0x180, SR_IOV))
        .put(0x188, 2, control)
        .put(0x18C, 2, 0x0011)  # InitialVFs
        .put(0x18E, 2, 0x0010)  # TotalVFs
        .put(0x190, 2, 0x0004)  # NumVFs
        .put(0x194, 2, 0x0002)  # First VF Offset
        .put(0x196, 2, 0x0001)  # VF Stride
        .put(0x19A, 2, 0x101C)  # VF Device ID
    )


def found(layout: Layout) -> SrIov:
    sriov = SrIov.find(layout.config())
    assert sriov
    return sriov


def test_the_numbers_stand_where_the_specification_puts_them() -> None:
    sriov = found(physical_function())

    assert (sriov.total, sriov.count, sriov.vf_device_id) == (16, 4, 0x101C)


@pytest.mark.parametrize(
    ("control", "enabled"),
    [
        pytest.param(0x0001, True, id="VF Enable"),
        pytest.param(0x0009, True, id="VF Enable, VF MSE"),
        pytest.param(0x0008, False, id="VF MSE"),
    ],
)
def test_only_bit_0_enables(control: int, *, enabled: bool) -> None:
    assert found(physical_function(control)).enabled is enabled


def test_a_function_without_sriov_has_none() -> None:
    assert SrIov.find(express_function((0x100, AER)).config()) is None


def test_a_control_register_of_all_ones_is_not_taken_for_enabled() -> None:
    sriov = found(physical_function(0xFFFF))

    with pytest.raises(ConfigSpaceError, match="does not answer"):
        _ = sriov.enabled
