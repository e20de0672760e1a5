import pytest
from model.functions import function

from pcietune.model.quirks import quirk_of
from pcietune.registers.acs import AcsControl

# First and last device of each row of pci_quirk_intel_spt_pch_acs_match (drivers/pci/quirks.c).
DWORD_ACS = "a110 a11f a167 a16a 9d10 9d1b a290 a29f a2e7 a2ee"


@pytest.mark.parametrize("device", DWORD_ACS.split())
def test_ports_of_sunrise_and_union_point_have_acs_registers_of_32_bits(device: str) -> None:
    quirk = quirk_of(function("00:1c.0", (f"8086:{device}", 0x060400)))

    assert quirk
    assert quirk.dword_acs


@pytest.mark.parametrize("device", ["a10f", "a120", "a166", "a16b", "a2ef", "347a"])
def test_their_neighbours_have_not(device: str) -> None:
    assert quirk_of(function("00:1c.0", (f"8086:{device}", 0x060400))) is None


@pytest.mark.parametrize(
    ("device_id", "control"),
    [
        ("12d8:2303", AcsControl.P2P_REQUEST_REDIRECT),
        ("12d8:2304", AcsControl.P2P_REQUEST_REDIRECT),
        ("12d8:2404", AcsControl.P2P_REQUEST_REDIRECT),
        ("12d8:b404", AcsControl.P2P_REQUEST_REDIRECT),
        ("111d:80b5", AcsControl.SOURCE_VALIDATION),
        ("111d:8090", AcsControl.SOURCE_VALIDATION),
    ],
)
def test_a_control_that_an_erratum_spoils_is_not_set(device_id: str, control: AcsControl) -> None:
    quirk = quirk_of(function("00:1c.0", (device_id, 0x060400)))

    assert quirk
    assert quirk.not_set == control


def test_another_vendors_device_with_the_same_number_is_not_meant() -> None:
    assert quirk_of(function("00:1c.0", ("1000:a110", 0x060400))) is None


# First and last device of each run of DECLARE_PCI_FIXUP_CLASS_EARLY(...,
# quirk_relaxedordering_disable) (drivers/pci/quirks.c).
UNRELAXED = "8086:2f01 8086:2f0e 8086:6f01 8086:6f0e 1022:1a00 1022:1a02"


@pytest.mark.parametrize("device_id", UNRELAXED.split())
def test_some_root_ports_take_relaxed_ordering_badly(device_id: str) -> None:
    quirk = quirk_of(function("00:01.0", (device_id, 0x060400)))

    assert quirk
    assert quirk.unrelaxed


@pytest.mark.parametrize("device_id", ["8086:2f00", "8086:2f0f", "8086:6f0f", "1022:1a03"])
def test_their_neighbours_take_it_well(device_id: str) -> None:
    assert quirk_of(function("00:01.0", (device_id, 0x060400))) is None
