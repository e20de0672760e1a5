"""Two levels of switches: what counts is where paths part, not who is the NIC's parent."""

import pytest

from bench.guest import Guest
from bench.on_guest import (
    ACS_CONTROL,
    GENERIC,
    VM,
    addresses,
    audited,
    differences,
    direct_translated,
    document,
    weighty,
)

pytestmark = [pytest.mark.machine("cascade"), pytest.mark.usefixtures("untouched")]


def test_direct_translated_p2p_is_set_where_paths_part_and_nowhere_else(guest: Guest) -> None:
    before = guest.configs()

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert applied.exit == 0
    assert direct_translated(guest) == addresses(guest, "port0", "top0")
    assert differences(before, guest.configs()) == {
        (address, ACS_CONTROL): "1d 5d" for address in addresses(guest, "port0", "top0")
    }
    assert weighty(audited(guest, *GENERIC)).keys() == {"pass"}


def test_both_leaves_are_one_switch_group(guest: Guest) -> None:
    found = audited(guest, *GENERIC)

    assert weighty(found)["fail"] == {
        ("port.nic-side.DirectTrans", guest.location("port0")),
        ("port.nic-side.DirectTrans", guest.location("top0")),
    }
    gpu_side = {f.subject.path for f in found.findings if f.id.startswith("port.gpu-side.")}
    assert gpu_side == {guest.location("port1"), guest.location("top1")}
    upstream = {f.subject.path for f in found.findings if f.id.startswith("port.upstream.")}
    assert upstream == {guest.location("root0"), guest.location("port2")}
    blocking = {f.subject.path for f in found.findings if f.id.endswith(".TransBlk")}
    assert blocking == {guest.location(name) for name in ("root0", "top0", "port0")}
