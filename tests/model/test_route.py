"""Rows of what is known of ACS, each as a sentence; words are ACS Control's bits 6:0."""

from dataclasses import replace

import pytest
from model.functions import GPU, NIC, PORT, by_address, fabric, function
from model.small_fabrics import CASCADE, DEVICE, ROOTS, SWITCH

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import NO_ACS, PortControls
from pcietune.model.route import trace
from pcietune.model.trace import Decision, Outcome, Trace
from pcietune.registers.acs import AcsControl
from pcietune.registers.express import PortType

EVERY = ~AcsControl(0)
TB, RR, CR, UF, EC, DT = tuple(AcsControl)[1:]
VIRTUALISED, ISOLATED, BARE = 0x5D, 0x1D, 0x00  # the first two as NVIDIA's rdma_topo has them

PHYSICAL = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL)
KERNEL = Packet(PacketKind.WRITE, AddressSpace.KERNEL)
GUEST = Packet(PacketKind.WRITE, AddressSpace.GUEST)
TRANSLATED = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL, translated=True)
READ = Packet(PacketKind.READ, AddressSpace.PHYSICAL, translated=True)
FORGED = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL, translated=True, forged=True)
T2GPA = Packet(PacketKind.WRITE, AddressSpace.GUEST, translated=True)
DATA = Packet(PacketKind.COMPLETION, AddressSpace.PHYSICAL)
RELAXED = Packet(PacketKind.COMPLETION, AddressSpace.PHYSICAL, relaxed_ordering=True)


def way(
    host: Fabric,
    source: str,
    target: str,
    packet: Packet,
    words: dict[str, int | PortControls],
) -> Trace:
    """Return the packet's way; a port without a word has no ACS."""

    def controls_of(port: PciFunction) -> PortControls:
        word = words.get(str(port.address).removeprefix("0000:"), NO_ACS)
        return word if isinstance(word, PortControls) else PortControls(AcsControl(word), EVERY)

    return trace(host, by_address(host, source), by_address(host, target), packet, controls_of)


def where(found: Trace) -> str | None:
    """Return the address of the port that decided."""
    return None if found.at is None else str(found.at.address)


def in_a_switch(
    packet: Packet, nic: int, gpu: int | PortControls = ISOLATED, root: int = ISOLATED
) -> Trace:
    """Return the way from NIC to GPU below one switch; of a completion, from GPU to NIC."""
    ends = ("03:00.0", "04:00.0")
    source, target = ends if packet.kind is not PacketKind.COMPLETION else ends[::-1]
    words: dict[str, int | PortControls] = {"02:00.0": nic, "02:01.0": gpu, "00:01.0": root}
    return way(SWITCH, source, target, packet, words)


def test_rdma_into_a_gpu_is_direct_as_nvidia_sets_up_vms() -> None:
    found = in_a_switch(TRANSLATED, VIRTUALISED)

    assert found.outcome is Outcome.DIRECT
    assert (where(found), found.control) == ("0000:02:00.0", DT)


def test_rdma_into_a_gpu_takes_the_root_complex_without_direct_translated() -> None:
    found = in_a_switch(TRANSLATED, ISOLATED)

    assert (found.outcome, found.control) == (Outcome.VIA_ROOT_COMPLEX, RR)
    assert found.iommu is False
    assert [step.decision for step in found.steps] == [
        Decision.REDIRECTED,
        Decision.FORWARDED,
        Decision.ROOT_COMPLEX,
        Decision.DOWN,
        Decision.DOWN,
    ]


def test_without_ats_a_guests_write_is_translated_in_the_root_complex() -> None:
    found = in_a_switch(GUEST, VIRTUALISED)

    assert (found.outcome, found.iommu) == (Outcome.VIA_ROOT_COMPLEX, True)
    assert found.reason == "ReqRedir+ sends it up"


def test_of_a_read_the_request_is_direct_and_the_data_comes_back_through_the_root() -> None:
    assert in_a_switch(READ, VIRTUALISED).outcome is Outcome.DIRECT
    assert in_a_switch(DATA, VIRTUALISED).outcome is Outcome.VIA_ROOT_COMPLEX


def test_data_with_relaxed_ordering_is_never_redirected() -> None:
    assert in_a_switch(RELAXED, VIRTUALISED).outcome is Outcome.DIRECT


def test_it_is_told_that_relaxed_ordering_is_what_completion_redirect_lets_pass() -> None:
    relaxed = in_a_switch(RELAXED, ISOLATED)
    never = in_a_switch(RELAXED, ISOLATED, gpu=BARE)

    parted = "turned where the two ways part: "
    assert relaxed.reason == f"{parted}CmpltRedir+ lets pass what has Relaxed Ordering"
    assert never.reason == f"{parted}CmpltRedir-"


def test_no_bit_is_told_of_completion_redirect_that_was_not_read() -> None:
    lacking = PortControls(AcsControl(0), EVERY & ~CR)
    relaxed = {
        setting: in_a_switch(RELAXED, ISOLATED, gpu=controls)
        for setting, controls in (
            ("CmpltRedir hard-wired", lacking),
            ("CmpltRedir not known", PortControls(None, None, None)),
            ("no ACS", NO_ACS),
        )
    }

    for setting, found in relaxed.items():
        assert found.outcome is Outcome.DIRECT
        assert setting in found.reason
        assert "CmpltRedir-" not in found.reason


def test_data_is_direct_where_the_gpus_port_has_no_completion_redirect() -> None:
    # Data Direct: xx101x1 at the GPU, xx110x1 at the NIC
    assert in_a_switch(DATA, 0b0011001, 0b0010101).outcome is Outcome.DIRECT


def test_a_doorbell_of_a_gpu_without_ats_takes_the_root_complex() -> None:
    words: dict[str, int | PortControls] = {"02:00.0": VIRTUALISED, "02:01.0": ISOLATED}

    assert way(SWITCH, "04:00.0", "03:00.0", GUEST, {**words, "00:01.0": ISOLATED}).outcome is (
        Outcome.VIA_ROOT_COMPLEX
    )


def test_a_doorbell_of_a_gpu_with_ats_needs_direct_translated_at_the_gpus_port() -> None:
    words: dict[str, int | PortControls] = {"02:00.0": VIRTUALISED, "00:01.0": ISOLATED}
    closed = way(SWITCH, "04:00.0", "03:00.0", TRANSLATED, {**words, "02:01.0": ISOLATED})
    opened = way(SWITCH, "04:00.0", "03:00.0", TRANSLATED, {**words, "02:01.0": VIRTUALISED})

    assert (closed.outcome, opened.outcome) == (Outcome.VIA_ROOT_COMPLEX, Outcome.DIRECT)


@pytest.mark.parametrize("packet", [PHYSICAL, DATA], ids=["write", "data"])
def test_on_bare_metal_without_redirects_all_is_direct(packet: Packet) -> None:
    assert in_a_switch(packet, BARE, BARE, BARE).outcome is Outcome.DIRECT


def test_source_validation_alone_redirects_nothing() -> None:
    assert in_a_switch(PHYSICAL, 0x01, 0x01, 0x01).outcome is Outcome.DIRECT


def test_a_guests_address_is_misrouted_by_a_switch_that_does_not_redirect() -> None:
    found = in_a_switch(GUEST, BARE, BARE)

    assert (found.outcome, found.control) == (Outcome.MISROUTED, RR)
    assert found.reason == "ReqRedir- lets a guest's address meet this host's windows"


def test_a_kernels_address_goes_up_whatever_the_switch_redirects() -> None:
    for word in (BARE, ISOLATED, EC.value):
        found = in_a_switch(KERNEL, word)
        assert (found.outcome, found.iommu) == (Outcome.VIA_ROOT_COMPLEX, True)
        assert found.reason == "no window of the switch holds the kernel's I/O virtual address"


def test_an_answer_by_guest_addresses_is_misrouted_by_direct_translated() -> None:
    found = in_a_switch(T2GPA, VIRTUALISED)

    assert (found.outcome, found.control) == (Outcome.MISROUTED, DT)


def test_an_answer_by_guest_addresses_is_translated_again_without_direct_translated() -> None:
    found = in_a_switch(T2GPA, ISOLATED)

    assert (found.outcome, found.iommu) == (Outcome.VIA_ROOT_COMPLEX, True)


@pytest.mark.parametrize("packet", [GUEST, TRANSLATED], ids=["untranslated", "by ATS"])
def test_nothing_arrives_where_no_bar_is_mapped(packet: Packet) -> None:
    unmapped = Packet(packet.kind, packet.address, translated=packet.translated, mapped=False)
    found = in_a_switch(unmapped, VIRTUALISED)

    assert (found.outcome, found.at) == (Outcome.BLOCKED, None)
    assert found.reason == "the IOMMU does not map the target's BAR for the sender"


def test_translation_blocking_comes_before_direct_translated() -> None:
    found = in_a_switch(TRANSLATED, VIRTUALISED | TB.value)

    assert (found.outcome, found.control) == (Outcome.BLOCKED, TB)


def test_translation_blocking_at_the_root_port_ends_ats_below_a_switch_that_is_open() -> None:
    found = in_a_switch(TRANSLATED, VIRTUALISED, root=ISOLATED | TB.value)

    assert (found.outcome, where(found)) == (
        Outcome.BLOCKED,
        "0000:00:01.0",
    )


def test_translation_blocking_does_not_touch_what_is_not_translated() -> None:
    assert in_a_switch(PHYSICAL, TB.value, BARE, TB.value).outcome is Outcome.DIRECT


@pytest.mark.parametrize(
    ("word", "closed", "outcome"),
    [
        pytest.param(EC, ("02:01.0",), Outcome.BLOCKED, id="forbidden"),
        pytest.param(EC | RR, ("02:01.0",), Outcome.VIA_ROOT_COMPLEX, id="redirected"),
        pytest.param(EC, ("02:02.0",), Outcome.DIRECT, id="let through"),
        pytest.param(EC | RR, (), Outcome.DIRECT, id="let through past ReqRedir"),
    ],
)
def test_an_egress_vector_decides_for_each_port(
    word: AcsControl, closed: tuple[str, ...], outcome: Outcome
) -> None:
    peers = frozenset(by_address(SWITCH, address).address for address in closed)
    controls = PortControls(word, EVERY, peers)

    words: dict[str, int | PortControls] = {"02:00.0": controls, "00:01.0": ISOLATED}
    assert way(SWITCH, "03:00.0", "04:00.0", PHYSICAL, words).outcome is outcome


def test_direct_translated_overrides_an_egress_vector() -> None:
    peer = by_address(SWITCH, "02:01.0").address
    controls = PortControls(EC | DT, EVERY, frozenset({peer}))

    found = way(SWITCH, "03:00.0", "04:00.0", TRANSLATED, {"02:00.0": controls})

    assert found.outcome is Outcome.DIRECT


def test_what_comes_back_without_upstream_forwarding_is_turned_past_the_iommu() -> None:
    found = in_a_switch(PHYSICAL, ISOLATED, root=ISOLATED & ~UF.value)

    assert (found.outcome, found.control) == (Outcome.TURNED_ABOVE, UF)
    assert where(found) == "0000:00:01.0"


def cascaded(packet: Packet, lower: int, upper: int) -> Trace:
    """Return the way from the NIC below the lower switch to the GPU below the upper alone."""
    words: dict[str, int | PortControls] = {
        "04:00.0": lower,
        "02:00.0": upper,
        "00:01.0": ISOLATED,
    }
    return way(CASCADE, "05:00.0", "07:00.0", packet, words)


def test_in_a_cascade_direct_translated_at_the_nics_own_port_does_not_help() -> None:
    found = cascaded(TRANSLATED, VIRTUALISED, ISOLATED)

    assert found.outcome is Outcome.VIA_ROOT_COMPLEX
    assert (where(found), found.control) == ("0000:02:00.0", RR)


def test_in_a_cascade_direct_translated_where_the_ways_part_is_enough() -> None:
    assert cascaded(TRANSLATED, ISOLATED, VIRTUALISED).outcome is Outcome.DIRECT


def test_below_the_parting_redirects_do_not_matter_to_physical_addresses() -> None:
    assert cascaded(PHYSICAL, ISOLATED, BARE).outcome is Outcome.DIRECT


def test_a_guests_address_is_misrouted_by_any_switch_on_its_way() -> None:
    found = cascaded(GUEST, BARE, ISOLATED)

    assert found.outcome is Outcome.MISROUTED
    assert where(found) == "0000:04:00.0"


@pytest.mark.parametrize("packet", [PHYSICAL, GUEST, TRANSLATED, DATA])
def test_two_root_ports_are_joined_by_the_root_complex_alone(packet: Packet) -> None:
    words: dict[str, int | PortControls] = {"00:01.0": VIRTUALISED, "00:02.0": VIRTUALISED}
    found = way(ROOTS, "01:00.0", "02:00.0", packet, words)

    assert found.outcome is Outcome.VIA_ROOT_COMPLEX
    assert found.reason == "the two have no switch in common"


def test_functions_of_one_device_reach_each_other_inside_it_without_acs() -> None:
    assert way(DEVICE, "01:00.0", "01:00.1", PHYSICAL, {}).outcome is Outcome.DIRECT


def test_functions_of_one_device_are_kept_apart_by_their_own_acs() -> None:
    words: dict[str, int | PortControls] = {"01:00.0": ISOLATED, "00:01.0": ISOLATED}
    found = way(DEVICE, "01:00.0", "01:00.1", PHYSICAL, words)

    assert found.outcome is Outcome.VIA_ROOT_COMPLEX
    assert where(found) == "0000:01:00.0"


def test_a_vf_and_its_pf_are_functions_of_one_device_though_their_slots_differ() -> None:
    nic = fabric(
        [
            function("00:01.0"),
            function("00:01.0 01:00.0", NIC),
            function("00:01.0 01:02.0", NIC),
            function("00:01.0 01:02.1", NIC),
        ]
    )

    for other in ("01:00.0", "01:02.1"):
        assert way(nic, "01:02.0", other, PHYSICAL, {}).outcome is Outcome.DIRECT


def test_integrated_devices_meet_in_the_root_complex() -> None:
    integrated = fabric([function("00:02.0", NIC), function("00:03.0", GPU)])

    assert way(integrated, "00:02.0", "00:03.0", PHYSICAL, {}).outcome is Outcome.VIA_ROOT_COMPLEX


@pytest.mark.parametrize(
    ("packet", "outcome"),
    [
        pytest.param(PHYSICAL, Outcome.DIRECT, id="physical"),
        pytest.param(KERNEL, Outcome.VIA_ROOT_COMPLEX, id="of the kernel"),
        pytest.param(GUEST, Outcome.MISROUTED, id="of a guest"),
    ],
)
def test_on_a_conventional_bus_whose_address_it_is_takes_it(
    packet: Packet, outcome: Outcome
) -> None:
    functions = [
        function("00:01.0"),
        function("00:01.0 01:00.0"),
        function("00:01.0 01:00.0 02:01.0", NIC),
        function("00:01.0 01:00.0 02:02.0", GPU),
    ]
    bridge = functions[1].address
    bus = Fabric(functions, {bridge: PortType.PCIE_TO_PCI_BRIDGE})

    assert way(bus, "02:01.0", "02:02.0", packet, {"00:01.0": ISOLATED}).outcome is outcome


def test_another_function_of_an_upstream_ports_device_is_a_peer_of_that_port() -> None:
    host = fabric(
        [
            function("00:01.0"),
            function("00:01.0 01:00.0", PORT),
            function("00:01.0 01:00.1", GPU),
            function("00:01.0 01:00.0 02:00.0"),
            function("00:01.0 01:00.0 02:00.0 03:00.0", NIC),
        ]
    )
    open_, closed = (
        way(host, "03:00.0", "01:00.1", PHYSICAL, {"01:00.0": word, "00:01.0": ISOLATED})
        for word in (BARE, ISOLATED)
    )

    assert (open_.outcome, closed.outcome) == (Outcome.DIRECT, Outcome.VIA_ROOT_COMPLEX)


def test_a_port_whose_acs_lacks_request_redirect_is_taken_to_redirect_as_linux_does() -> None:
    lacking = PortControls(AcsControl(0), EVERY & ~(RR | CR))
    words: dict[str, int | PortControls] = {"02:00.0": lacking, "00:01.0": ISOLATED}
    found = way(SWITCH, "03:00.0", "04:00.0", PHYSICAL, words)

    assert found.outcome is Outcome.VIA_ROOT_COMPLEX
    assert found.reason == "ReqRedir hard-wired sends it up"


def test_what_could_not_be_read_is_named() -> None:
    unread = PortControls(None, None, None, why_unread="the first 64 bytes alone may be read")
    found = way(SWITCH, "03:00.0", "04:00.0", PHYSICAL, {"02:00.0": unread})

    assert (found.outcome, where(found)) == (
        Outcome.UNKNOWN,
        "0000:02:00.0",
    )
    assert found.reason == ("ACS could not be read: the first 64 bytes alone may be read")


def test_a_violation_is_told_though_another_port_could_not_be_read() -> None:
    unread = PortControls(None, None, None)
    words: dict[str, int | PortControls] = {"02:00.0": unread, "00:01.0": TB.value}

    assert way(SWITCH, "03:00.0", "04:00.0", TRANSLATED, words).outcome is Outcome.BLOCKED


def test_a_forged_translation_turns_before_it_comes_to_a_port_that_blocks() -> None:
    honest = in_a_switch(TRANSLATED, VIRTUALISED, root=0x1F)
    forged = in_a_switch(FORGED, VIRTUALISED, root=0x1F)

    assert (honest.outcome, where(honest)) == (Outcome.BLOCKED, "0000:00:01.0")
    assert (forged.outcome, where(forged)) == (Outcome.DIRECT, "0000:02:00.0")


@pytest.mark.parametrize(
    ("nic", "root", "at"), [(0x5F, BARE, "0000:02:00.0"), (ISOLATED, 0x1F, "0000:00:01.0")]
)
def test_a_port_that_a_forged_translation_comes_to_blocks_it(nic: int, root: int, at: str) -> None:
    found = in_a_switch(FORGED, nic, root=root)

    assert (found.outcome, found.control, where(found)) == (Outcome.BLOCKED, TB, at)


def test_a_root_complex_believes_a_forged_translation_of_what_is_not_mapped() -> None:
    found = in_a_switch(replace(FORGED, mapped=False), ISOLATED)

    assert found.outcome is Outcome.VIA_ROOT_COMPLEX
