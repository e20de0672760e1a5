import pytest
from model.functions import by_address
from model.small_fabrics import SWITCH

from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, PacketKind
from pcietune.model.port_controls import PortControls
from pcietune.model.trace import Outcome
from pcietune.registers.acs import AcsControl
from pcietune.tune.paths.flow import Flow, flow
from pcietune.tune.paths.sender import Sender

EVERY = ~AcsControl(0)
ISOLATED, VIRTUALISED = AcsControl(0x1D), AcsControl(0x5D)  # as NVIDIA's rdma_topo has them
ACROSS, ABOVE = Outcome.DIRECT, Outcome.VIA_ROOT_COMPLEX


def sent(
    nic_port: AcsControl,
    *,
    translated: bool | None,
    relaxed_ordering: bool | None = False,
    address: AddressSpace = AddressSpace.GUEST,
) -> Flow:
    """Return what passes between a NIC that asks and a GPU whose port is isolated."""
    nic, gpu = by_address(SWITCH, "03:00.0"), by_address(SWITCH, "04:00.0")
    asking = Sender(
        function=nic,
        address=address,
        translated=translated,
        answer=AddressSpace.PHYSICAL,
        relaxed_ordering=relaxed_ordering,
        mapped=True,
        why="no one can tell",
    )

    def controls_of(port: PciFunction) -> PortControls:
        decides = str(port.address) == "0000:02:00.0"
        return PortControls(nic_port if decides else ISOLATED, EVERY)

    return flow(SWITCH, asking, gpu, controls_of)


def test_a_vms_nic_with_ats_writes_and_asks_directly_and_gets_data_by_the_root() -> None:
    found = sent(VIRTUALISED, translated=True)

    assert (found.write.outcome, found.read.outcome) == (ACROSS, ACROSS)
    assert (found.completion.outcome, found.relaxed) == (ABOVE, None)
    assert (found.write.packet.kind, found.read.packet.kind) == (PacketKind.WRITE, PacketKind.READ)


def test_data_goes_from_the_completer_to_the_requester() -> None:
    data = sent(VIRTUALISED, translated=True).completion

    assert (data.source.id, data.target.id) == ("10de:20f3", "15b3:101b")
    assert str(data.at.address if data.at else None) == "0000:02:01.0"


def test_data_comes_back_directly_if_the_completer_copies_relaxed_ordering() -> None:
    found = sent(VIRTUALISED, translated=True, relaxed_ordering=True)

    assert found.relaxed is not None
    assert (found.completion.outcome, found.relaxed.outcome) == (ABOVE, ACROSS)


def test_nothing_is_said_of_relaxed_ordering_where_it_is_not_known() -> None:
    assert sent(VIRTUALISED, translated=True, relaxed_ordering=None).relaxed is None


def test_without_ats_all_takes_the_root_complex() -> None:
    found = sent(VIRTUALISED, translated=False)

    assert {found.write.outcome, found.read.outcome, found.completion.outcome} == {ABOVE}
    assert found.write.iommu is True


def test_an_end_that_hangs_on_whether_ats_is_on_is_not_known() -> None:
    write = sent(VIRTUALISED, translated=None).write

    assert (write.outcome, write.at, write.control, write.iommu) == (
        Outcome.UNKNOWN,
        None,
        None,
        None,
    )
    assert write.reason == "whether its requests are translated is not known: no one can tell"
    assert write.packet.translated is None


def test_an_end_that_is_the_same_either_way_is_told_and_the_iommus_part_is_not() -> None:
    write = sent(ISOLATED, translated=None).write

    assert (write.outcome, write.iommu) == (ABOVE, None)


@pytest.mark.parametrize("space", [AddressSpace.PHYSICAL, AddressSpace.KERNEL])
def test_the_senders_address_space_is_the_packets(space: AddressSpace) -> None:
    assert sent(ISOLATED, translated=False, address=space).write.packet.address is space


def test_a_translated_request_has_the_address_that_the_iommu_answered_with() -> None:
    packet = sent(ISOLATED, translated=True).write.packet

    assert (packet.translated, packet.address) == (True, AddressSpace.PHYSICAL)
