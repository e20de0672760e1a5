"""Which function's ATS is broken, by the kernel's log and the host's functions."""

from pathlib import Path

import pytest
from trees.function import nic
from trees.machines import one_switch
from tune.judged import NIC, NIC_PORT, opened, surveyed
from tune.profiles import PROFILE

from pcietune.model.finding import HOST, Finding, State
from pcietune.model.kernel_log import LogLine
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.audit.memory import Memory

OTHER_DOMAIN = "0001:24:00.0"
WITHOUT_DOMAIN = "AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=24:00.0 address=0x42b5b01a0]"
INTEL = "DMAR: VT-d detected Invalidation Time-out Error: SID 0"


VIOLATION = f"pcieport {NIC_PORT}:    [21] ACSViol                (First)"
HEADER = f"pcieport {NIC_PORT}: AER:   TLP Header: "


def _judged(
    root: Path,
    *texts: str,
    twin: bool = False,
    id: str = "device.invalidation-timeout",  # noqa: A002 -- as everywhere in the model
) -> list[Finding]:
    tree = one_switch(root)
    if twin:
        tree.add(nic(OTHER_DOMAIN))
    host = opened(tree)
    log = [LogLine(93_500_000 + number, text) for number, text in enumerate(texts)]
    audited = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.VM), Memory(log=log))
    return [f for f in audited.findings if f.id == id]


def test_a_log_without_time_outs_says_nothing(tmp_path: Path) -> None:
    assert _judged(tmp_path, "usb 1-1: new high-speed USB device number 2 using xhci_hcd") == []


@pytest.mark.parametrize(
    "texts",
    [
        (WITHOUT_DOMAIN,),
        (WITHOUT_DOMAIN.replace("device=", "device=0000:"),),
        (INTEL, "DMAR: QI HEAD: Device-TLB Invalidation qw0 = 0x240000100003, qw1 = 0x1"),
    ],
)
def test_a_nic_that_does_not_answer_has_broken_ats(tmp_path: Path, texts: tuple[str, ...]) -> None:
    [found] = _judged(tmp_path, *texts)

    assert (str(found.subject.address), found.state) == (NIC, State.FAIL)
    assert found.severity is Severity.ERROR
    assert found.found.text == f"1 time-out of {NIC}"
    assert f"93.5 s after the boot began: {texts[0]}" in found.reason


def test_time_outs_of_one_function_are_counted(tmp_path: Path) -> None:
    [found] = _judged(tmp_path, WITHOUT_DOMAIN, WITHOUT_DOMAIN)

    assert found.found.value == "2"


def test_a_time_out_of_nobody_in_particular_accuses_nobody(tmp_path: Path) -> None:
    [found] = _judged(tmp_path, INTEL)

    assert (found.subject, found.severity) == (HOST, Severity.WARNING)
    assert found.found.text == "1 time-out of a function that the log does not name"


def test_of_two_functions_with_one_number_neither_is_accused(tmp_path: Path) -> None:
    [found] = _judged(tmp_path, WITHOUT_DOMAIN, twin=True)

    assert (found.subject, found.severity) == (HOST, Severity.WARNING)
    assert "24:00.0, in a domain that the log does not name" in found.found.text


def test_a_function_without_a_role_is_named_and_weighs_less(tmp_path: Path) -> None:
    text = WITHOUT_DOMAIN.replace("device=", "device=0001:")

    [found] = _judged(tmp_path, text, twin=True)

    assert (str(found.subject.address), found.severity) == (OTHER_DOMAIN, Severity.WARNING)


def _stopped(root: Path, *texts: str) -> Finding:
    [found] = _judged(root, *texts, id="port.acs-violations-logged")
    assert (str(found.subject.address), found.severity) == (NIC_PORT, Severity.INFO)
    return found


def test_what_a_function_sent_before_it_had_a_number_does_no_harm(tmp_path: Path) -> None:
    plugged = f"pcieport {NIC_PORT}: pciehp: Slot(4): Link Up"

    found = _stopped(tmp_path, plugged, VIOLATION, f"{HEADER}34000000 00000010 00000000 80110000")

    assert found.state is State.PASS
    assert "had no bus number yet (from 00:00.0)" in found.found.text


def test_a_request_to_a_peer_that_was_stopped_names_its_requester(tmp_path: Path) -> None:
    found = _stopped(tmp_path, VIOLATION, f"{HEADER}60000020 240000ff 0000383f e0000000")

    assert found.state is State.FAIL
    assert found.found.text == "1 x a request to a peer (from 24:00.0)"


def test_a_stopped_packet_without_a_header_is_not_taken_for_harmless(tmp_path: Path) -> None:
    assert _stopped(tmp_path, VIOLATION).state is State.FAIL


def test_a_port_that_is_not_there_any_more_is_not_judged(tmp_path: Path) -> None:
    gone = VIOLATION.replace(NIC_PORT, "0000:99:00.0")

    assert _judged(tmp_path, gone, id="port.acs-violations-logged") == []
