"""The words for routes: what a port did, and the control by which it did."""

from dataclasses import replace

import pytest
from model.functions import PORT, function

from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import Setting
from pcietune.model.trace import Decision, Step
from pcietune.registers.acs import AcsControl
from pcietune.report.route_words import control_of, decided, sent

GUEST = Packet(PacketKind.WRITE, AddressSpace.GUEST)
AT = function("00:01.0", PORT)
FORWARDING = AcsControl.UPSTREAM_FORWARDING


@pytest.mark.parametrize(
    ("decision", "setting", "told"),
    [
        (Decision.FORWARDED, Setting.ON, "UpstreamFwd+"),
        (Decision.TURNED, Setting.OFF, "UpstreamFwd-"),
        (Decision.NOT_KNOWN, Setting.NOT_KNOWN, "UpstreamFwd not known"),
        (Decision.FORWARDED, Setting.HARD_WIRED, "UpstreamFwd hard-wired"),
        (Decision.TURNED, Setting.NO_ACS, "no ACS"),
    ],
)
def test_only_a_bit_that_was_read_is_told_as_on_or_off(
    decision: Decision, setting: Setting, told: str
) -> None:
    assert control_of(Step(AT, decision, FORWARDING, setting=setting), GUEST) == told


def test_a_packet_is_not_called_translated_where_that_is_not_known() -> None:
    assert sent(replace(GUEST, translated=None)) == "posted write"


def test_a_control_that_is_not_known_is_said_to_be_so_once() -> None:
    unread = Step(AT, Decision.NOT_KNOWN, FORWARDING, setting=Setting.NOT_KNOWN)

    assert decided(unread, GUEST) == "UpstreamFwd not known"
