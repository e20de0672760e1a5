"""The words for routes: what a port did, and the control by which it did."""

import pytest
from model.functions import PORT, function

from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.trace import Decision, Step
from pcietune.registers.acs import AcsControl
from pcietune.report.route_words import control_of

GUEST = Packet(PacketKind.WRITE, AddressSpace.GUEST)
AT = function("00:01.0", PORT)
FORWARDING = AcsControl.UPSTREAM_FORWARDING


@pytest.mark.parametrize(
    ("decision", "on", "told"),
    [
        pytest.param(Decision.FORWARDED, True, "UpstreamFwd+", id="on"),
        pytest.param(Decision.TURNED, False, "UpstreamFwd-", id="off"),
        pytest.param(Decision.NOT_KNOWN, None, "UpstreamFwd not known", id="not read"),
        pytest.param(Decision.FORWARDED, False, "UpstreamFwd hard-wired", id="not implemented"),
    ],
)
def test_a_control_that_acts_without_being_on_is_told_as_hard_wired(
    decision: Decision, *, on: bool | None, told: str
) -> None:
    assert control_of(Step(AT, decision, FORWARDING, on=on), GUEST) == told
