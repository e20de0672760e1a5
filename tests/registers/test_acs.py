import pytest
from hypothesis import given
from hypothesis import strategies as st
from registers.layout import ACS, AER, POWER_MANAGEMENT, Layout, express_function

from pcietune.errors import ConfigSpaceError
from pcietune.registers.acs import (
    LSPCI_NAMES,
    Acs,
    AcsControl,
    AcsEnhancedControls,
    MemoryTargetAccess,
)

SV, TB, RR, CR, UF, EC, DT = AcsControl  # as the kernel's PCI_ACS_ constants are called
EVERY = SV | TB | RR | CR | UF | EC | DT
WORDS = st.integers(0, 0xFFFF)
CONTROLS = st.integers(0, 0x7F).map(AcsControl)


def port(capability: int, control: int) -> Layout:
    """Return a function with ACS at 140h."""
    layout = express_function((0x100, AER), (0x140, ACS))
    return layout.put(0x144, 2, capability).put(0x146, 2, control)


def found(layout: Layout, *, dword_registers: bool = False) -> Acs:
    acs = Acs.find(layout.config(), dword_registers=dword_registers)
    assert acs
    return acs


@pytest.mark.parametrize(
    ("bit", "control", "lspci_name"),
    [
        pytest.param(0, AcsControl.SOURCE_VALIDATION, "SrcValid"),
        pytest.param(1, AcsControl.TRANSLATION_BLOCKING, "TransBlk"),
        pytest.param(2, AcsControl.P2P_REQUEST_REDIRECT, "ReqRedir"),
        pytest.param(3, AcsControl.P2P_COMPLETION_REDIRECT, "CmpltRedir"),
        pytest.param(4, AcsControl.UPSTREAM_FORWARDING, "UpstreamFwd"),
        pytest.param(5, AcsControl.P2P_EGRESS_CONTROL, "EgressCtrl"),
        pytest.param(6, AcsControl.DIRECT_TRANSLATED_P2P, "DirectTrans"),
    ],
)
def test_a_control_has_the_same_bit_in_both_registers(
    bit: int, control: AcsControl, lspci_name: str
) -> None:
    assert found(port(1 << bit, 0)).supported == control
    assert found(port(0, 1 << bit)).enabled == control
    assert LSPCI_NAMES[control] == lspci_name


def test_every_control_has_a_name_of_lspcis() -> None:
    assert list(LSPCI_NAMES) == list(AcsControl)


@pytest.mark.parametrize(
    ("word", "controls"),
    [
        pytest.param(0x001D, SV | RR | CR | UF, id="isolated, as the kernel sets it"),
        pytest.param(0x005D, SV | RR | CR | UF | DT, id="isolated, translated requests direct"),
        pytest.param(0x001F, SV | TB | RR | CR | UF, id="isolated, translated requests blocked"),
        pytest.param(0x0000, AcsControl(0), id="nothing"),
    ],
)
def test_control_words_mean_what_the_kernel_means(word: int, controls: AcsControl) -> None:
    assert found(port(0x5F, word)).enabled == controls


def test_bits_above_six_are_kept_in_the_words_and_are_no_controls() -> None:
    acs = found(port(0x0080, 0x1F80))

    assert (acs.capability, acs.control) == (0x0080, 0x1F80)
    assert acs.supported == acs.enabled == AcsControl(0)


def test_a_stray_bit_is_no_set_of_controls() -> None:
    with pytest.raises(ValueError, match="invalid value"):
        AcsControl(0x087F)


def enhanced(control: int) -> AcsEnhancedControls:
    """Return what ACS Control says of a port with the ACS Enhanced Capability."""
    controls = found(port(0x00DF, control)).enhanced
    assert controls
    return controls


def test_without_bit_7_of_the_capability_register_bits_12_to_7_of_control_say_nothing() -> None:
    assert found(port(0xFF7F, 0x1F80)).enhanced is None


@pytest.mark.parametrize(
    ("control", "io_request_blocking", "unclaimed_request_redirect"),
    [
        pytest.param(0x0080, True, False, id="bit 7, PCI_ACS_IB"),
        pytest.param(0x1000, False, True, id="bit 12, PCI_ACS_URRC"),
        pytest.param(0xEF7F, False, False, id="all others"),
    ],
)
def test_bits_7_and_12_of_control_block_io_and_redirect_what_is_unclaimed(
    control: int, *, io_request_blocking: bool, unclaimed_request_redirect: bool
) -> None:
    controls = enhanced(control)

    assert controls.io_request_blocking is io_request_blocking
    assert controls.unclaimed_request_redirect is unclaimed_request_redirect


@pytest.mark.parametrize(
    ("bits", "access"),
    [
        (0b00, MemoryTargetAccess.DIRECT),
        (0b01, MemoryTargetAccess.BLOCK),
        (0b10, MemoryTargetAccess.REDIRECT),
        (0b11, MemoryTargetAccess.RESERVED),
    ],
)
def test_memory_target_access_is_in_bits_9_8_for_downstream_and_11_10_for_upstream_ports(
    bits: int, access: MemoryTargetAccess
) -> None:
    downstream, upstream = enhanced(0x001D | bits << 8), enhanced(0x001D | bits << 10)

    assert downstream.dsp_memory_target_access is access
    assert downstream.usp_memory_target_access is MemoryTargetAccess.DIRECT
    assert upstream.usp_memory_target_access is access
    assert upstream.dsp_memory_target_access is MemoryTargetAccess.DIRECT


def test_the_size_of_the_egress_vector_is_no_control() -> None:
    acs = found(port(0x087F, 0x001D))

    assert acs.egress_vector_size == 8
    assert acs.supported == EVERY
    assert acs.enabled == SV | RR | CR | UF
    assert acs.enhanced is None


@pytest.mark.parametrize(
    ("capability", "bits"),
    [
        pytest.param(0x0A7F, 10, id="as it stands"),
        pytest.param(0xFF7F, 255, id="the largest that stands"),
        pytest.param(0x007F, 256, id="0 for 256"),
        pytest.param(0x085F, None, id="no vector"),
    ],
)
def test_the_egress_vector_has_1_to_256_bits(capability: int, bits: int | None) -> None:
    assert found(port(capability, 0)).egress_vector_size == bits


@given(word=WORDS, enabled=CONTROLS, among=CONTROLS)
def test_a_write_makes_its_controls_hold_and_leaves_all_other_bits(
    word: int, enabled: AcsControl, among: AcsControl
) -> None:
    write = found(port(0x00FF, 0)).write(enabled & among, among=among)

    after = write.merge(word)

    assert AcsControl.decode(after) & among == enabled & among
    assert after & 0xFF80 == word & 0xFF80
    assert AcsControl.decode(after ^ word) & ~among == AcsControl(0)


def test_a_write_is_of_the_two_bytes_of_control() -> None:
    write = found(port(0x087F, 0x001D)).write(DT, among=DT)

    assert (write.offset, write.width, write.mask) == (0x146, 2, 0x0040)
    assert write.merge(0x001D) == 0x005D


def test_a_control_that_is_not_among_the_named_is_not_written() -> None:
    with pytest.raises(ValueError, match="bits outside mask 0x40"):
        found(port(0x5F, 0)).write(DT | SV, among=DT)


def test_registers_of_32_bits_have_control_at_8() -> None:
    acs = found(port(0x000F, 0).put(0x148, 4, 0x000D), dword_registers=True)

    assert acs.supported == SV | TB | RR | CR
    assert acs.enabled == SV | RR | CR


def test_registers_of_32_bits_are_never_written() -> None:
    with pytest.raises(ValueError, match=r"3b:00\.0: .* quirk"):
        found(port(0x000F, 0), dword_registers=True).write(SV, among=SV)


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(express_function((0x100, AER)), id="other Extended Capabilities only"),
        pytest.param(Layout().capabilities((0x40, POWER_MANAGEMENT)), id="conventional"),
        pytest.param(Layout(), id="no list at all"),
    ],
)
def test_a_function_without_acs_has_none(layout: Layout) -> None:
    assert Acs.find(layout.config()) is None


def test_a_control_register_of_all_ones_is_not_decoded() -> None:
    acs = found(port(0x5F, 0xFFFF))

    with pytest.raises(ConfigSpaceError, match="does not answer"):
        _ = acs.enabled


def test_registers_behind_the_end_are_not_decoded() -> None:
    acs = found(express_function((0x100, AER), (0xFFC, ACS)))

    with pytest.raises(ConfigSpaceError, match="no 2-byte register at 0x1000"):
        _ = acs.supported


def test_judging_acs_costs_the_lists_and_two_words() -> None:
    config = port(0x087F, 0x001D).config()
    acs = Acs.find(config)
    assert acs

    _ = acs.supported, acs.enabled, acs.egress_vector_size, acs.enhanced, acs.control

    assert config.accesses == [
        (0x06, 2),
        (0x34, 1),
        (0x40, 2),
        (0x100, 4),
        (0x140, 4),
        (0x144, 2),
        (0x146, 2),
    ]


@pytest.mark.parametrize("number", [0, 7, 31, 32, 63, 64, 255])
def test_a_bit_of_the_egress_vector_is_found_in_its_word_after_the_control_register(
    number: int,
) -> None:
    # PCIe r7.0, 7.7.12: at 08h, bit 0 for Port or Function Number 0; a size of 0 means 256
    layout = port(0x0020, 0x0020).put(0x148 + number // 8, 1, 1 << number % 8)

    blocked = [other for other in range(256) if found(layout).egress_blocks(other)]

    assert blocked == [number]


@pytest.mark.parametrize(
    ("capability", "number"),
    [
        pytest.param(0x0820, 8, id="beyond a vector of eight bits"),
        pytest.param(0x085F, 0, id="a function without P2P Egress Control"),
        pytest.param(0x0020, 256, id="beyond the longest"),
    ],
)
def test_a_bit_that_the_egress_vector_does_not_have_is_neither_set_nor_clear(
    capability: int, number: int
) -> None:
    assert found(port(capability, 0)).egress_blocks(number) is None
