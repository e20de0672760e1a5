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


# Every device of quirk_amd_harvest_no_ats but 15d8, an APU of which only three boards are meant.
E2000 = "1451 1452 1453 1454 1455 1457 1459 145a 145c"  # quirk_intel_e2000_no_ats
NAVI = "6900 7310 7312 7318 7319 731a 731b 731e 731f 7340 7341 7347 734f 98e4"


@pytest.mark.parametrize("device", NAVI.split())
def test_ats_of_harvested_gpus_is_broken_in_all_revisions(device: str) -> None:
    quirk = quirk_of(function("03:00.0", (f"1002:{device}", 0x030000)))

    assert quirk
    assert quirk.ats_broken_below > 0xFF


@pytest.mark.parametrize("device", ["7311", "7317", "731c", "7342", "740c", "74a1"])
def test_ats_of_other_gpus_is_not(device: str) -> None:
    assert quirk_of(function("03:00.0", (f"1002:{device}", 0x030000))) is None


@pytest.mark.parametrize("device", E2000.split())
def test_ats_of_the_e2000_is_broken_before_revision_20h(device: str) -> None:
    quirk = quirk_of(function("03:00.0", (f"8086:{device}", 0x020000)))

    assert quirk
    assert quirk.ats_broken_below == 0x20


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


# First and last device of each row of pci_quirk_zhaoxin_pcie_ports_acs (drivers/pci/quirks.c).
ZHAOXIN = "0710 071e 0721 0723 0752"


@pytest.mark.parametrize("device", ZHAOXIN.split())
def test_zhaoxin_ports_isolate_without_acs(device: str) -> None:
    quirk = quirk_of(function("00:03.0", (f"1d17:{device}", 0x060400)))

    assert quirk
    assert quirk.built_in.value == 0x001D  # SV, RR, CR and UF of pci_regs.h


@pytest.mark.parametrize("device", ["070f", "071f", "0720", "0722", "0753"])
def test_their_neighbours_do_not(device: str) -> None:
    assert quirk_of(function("00:03.0", (f"1d17:{device}", 0x060400))) is None
