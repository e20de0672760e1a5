"""An A800 that has lost a GPU, and a port that stops answering while it runs."""

from collections.abc import Iterator

import pytest

from bench.guest import Guest
from bench.on_guest import (
    VM,
    addresses,
    audited,
    direct_translated,
    document,
    finding,
    states,
    weighty,
)

pytestmark = [pytest.mark.machine("absent"), pytest.mark.usefixtures("untouched")]

ANSWERING = ("port2", "port3", "port6", "port7", "port10", "port11")


@pytest.fixture
def _port14_vanished(guest: Guest, untouched: None) -> Iterator[None]:  # noqa: ARG001 -- its order
    guest.vanish("port14")
    yield
    guest.reappear("port14")


@pytest.mark.usefixtures("_port14_vanished")
def test_three_groups_are_done_and_the_fourth_is_named(guest: Guest) -> None:
    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert (applied.exit, applied.changed) == (3, True)  # differs comes before not readable
    assert {w.address for w in applied.writes} == addresses(guest, *ANSWERING)
    (not_begun,) = (r for r in applied.residual if r.what == "switch group not begun")
    assert not_begun.path == guest.location("switch3")
    port = guest.address("port14")
    assert not_begun.reason == f"{port} does not answer: it reads as all ones"
    assert direct_translated(guest) == addresses(guest, *ANSWERING)


@pytest.mark.usefixtures("_port14_vanished")
def test_what_does_not_answer_is_never_off_and_what_is_missing_is_counted(guest: Guest) -> None:
    found = audited(guest)

    at = guest.location("port14")
    assert {i for i, where in states(found)["error"] if where == at} == {
        f"port.nic-side.{bit}"
        for bit in (
            *("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir"),
            *("UpstreamFwd", "EgressCtrl", "DirectTrans"),
        )
    }
    passing = {i for i, where in states(found)["pass"] if where == at}
    assert passing == {"port.runtime-pm", "port.acs-violations"}  # sysfs has them from before
    layout = {(i, where) for i, where in states(found)["fail"] if i.startswith("layout.")}
    assert layout == {
        ("layout.gpu", "host"),
        ("layout.switch-group", guest.location("switch1")),
    }
    counted = finding(found, "layout.gpu", "host")
    assert (counted.found.text, counted.wanted.text) == ("7 GPUs", "8 GPUs")


def test_a_port_that_vanished_is_set_when_it_answers_again(guest: Guest) -> None:
    guest.vanish("port14")
    guest.pcietune("apply", *VM)
    guest.reappear("port14")

    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert {w.address for w in applied.writes} == addresses(guest, "port14", "port15")
    assert {i for i, _ in weighty(applied)["fail"]} == {"layout.gpu", "layout.switch-group"}


def test_topo_shows_what_does_not_answer_and_ends_with_6(guest: Guest) -> None:
    guest.vanish("port14")
    try:
        shown = guest.pcietune("topo")
    finally:
        guest.reappear("port14")

    assert shown.returncode == 6
    (line,) = (text for text in shown.stdout.splitlines() if guest.address("port14") in text[:40])
    assert "NOT READ: " in line
    assert "does not answer" in line
