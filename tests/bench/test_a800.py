"""The main job on the emulated HGX A800."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from bench.guest import Guest
from bench.on_guest import (
    ACS_CONTROL,
    VM,
    addresses,
    audited,
    differences,
    direct_translated,
    document,
    path,
    states,
    weighty,
    with_signal,
)
from bench.record_hosts import RECORDED
from pcietune.report.document import Document

pytestmark = [pytest.mark.machine("a800"), pytest.mark.usefixtures("untouched")]

TRACE = "/run/trace"
EXPECTED = Path(__file__).parent / "expected" / "a800-vm.yaml"
NIC_PORTS = ("port2", "port3", "port6", "port7", "port10", "port11", "port14", "port15")


def test_audit_finds_exactly_what_the_machine_is_described_with(guest: Guest) -> None:
    expected = yaml.safe_load(EXPECTED.read_text())

    found = audited(guest)

    assert found.exit == 3
    assert states(found) == {
        state: {(i, path(guest, name)) for i, names in expected[state].items() for name in names}
        for state in ("fail", "pass")
    }


def test_plan_names_one_write_for_each_nic_and_makes_none(guest: Guest) -> None:
    before = guest.configs()

    planned = document(guest.pcietune("plan", *VM, "--json"))

    assert planned.exit == 3
    assert {(w.address, w.old, w.mask, w.new, w.readback) for w in planned.writes} == {
        (address, "0x001d", "0x0040", "0x005d", None) for address in addresses(guest, *NIC_PORTS)
    }
    assert guest.configs() == before


def test_apply_sets_direct_translated_p2p_above_the_nics_and_changes_no_other_byte(
    guest: Guest,
) -> None:
    before = guest.configs()

    applied = document(guest.pcietune("apply", *VM, "--json"))

    assert (applied.exit, applied.changed) == (0, True)
    assert {w.readback for w in applied.writes} == {"0x005d"}
    assert direct_translated(guest) == addresses(guest, *NIC_PORTS)
    assert differences(before, guest.configs()) == {
        (address, ACS_CONTROL): "1d 5d" for address in addresses(guest, *NIC_PORTS)
    }
    again = audited(guest)
    assert again.exit == 0
    assert weighty(again).keys() == {"pass"}


def test_a_second_apply_writes_nothing(guest: Guest) -> None:
    guest.pcietune("apply", *VM)

    traced = guest.run(
        *(
            "strace",
            "-f",
            "--seccomp-bpf",
            "-o",
            TRACE,
            "-e",
            "trace=pwrite64,pwritev,pwritev2",
        ),
        *(*guest.PCIETUNE, "apply", *VM, "--json"),
    )

    again = document(traced)
    assert (again.exit, again.changed, again.writes) == (0, False, [])
    assert b"pwrite" not in guest.read_file(TRACE)


def test_the_first_apply_writes_two_bytes_a_port(guest: Guest) -> None:
    guest.run(
        *(
            "strace",
            "-f",
            "--seccomp-bpf",
            "-o",
            TRACE,
            "-e",
            "trace=pwrite64,pwritev,pwritev2",
        ),
        *(*guest.PCIETUNE, "apply", *VM),
    )

    trace = guest.read_file(TRACE).decode()
    written = re.findall(r'pwrite64\(\d+, "(.*)", (\d+), (\d+)\) += (\d+)', trace)
    assert written == [("]\\0", "2", str(ACS_CONTROL), "2")] * len(NIC_PORTS)  # 5d is ]


def test_restore_brings_every_byte_back(guest: Guest) -> None:
    before = guest.configs()
    guest.pcietune("apply", *VM)

    restored = document(guest.pcietune("restore", "--json"))

    assert (restored.exit, restored.changed, len(restored.writes)) == (0, True, len(NIC_PORTS))
    assert guest.configs() == before
    assert document(guest.pcietune("restore", "--json")).changed is False


@pytest.mark.parametrize(
    ("signal", "when", "write"),
    [("SIGINT", "before", 1), ("SIGINT", "after", 3), ("SIGTERM", "after", 8)],
)
def test_an_interrupted_apply_undoes_everything(
    guest: Guest, signal: str, when: str, write: int
) -> None:
    before = guest.configs()

    result = with_signal(guest, signal, when, "pwrite", write, "apply", *VM)

    assert result.returncode == 130
    assert "everything written in this run was undone" in result.stdout
    assert guest.configs() == before
    assert not [f for f in audited(guest).findings if f.id == "apply.unfinished"]


@pytest.mark.parametrize(("when", "write"), [("after", 1), ("before", 4), ("after", 7)])
def test_a_killed_apply_is_described_truly_and_healed(guest: Guest, when: str, write: int) -> None:
    before = guest.configs()
    set_by_then = set(NIC_PORTS[: write if when == "after" else write - 1])
    top = guest.location(f"switch{(write - 1) // 2}")

    assert with_signal(guest, "SIGKILL", when, "pwrite", write, "apply", *VM).returncode == -9

    assert direct_translated(guest) == addresses(guest, *set_by_then)
    found = audited(guest)
    assert found.exit == 3
    assert weighty(found)["fail"] == {("apply.unfinished", top)} | {
        ("port.nic-side.DirectTrans", guest.location(port)) for port in set(NIC_PORTS) - set_by_then
    }

    assert document(guest.pcietune("apply", *VM, "--json")).exit == 0
    assert weighty(audited(guest)).keys() == {"pass"}
    assert document(guest.pcietune("restore", "--json")).exit == 0
    assert guest.configs() == before


def test_restore_undoes_what_a_killed_apply_left(guest: Guest) -> None:
    before = guest.configs()
    with_signal(guest, "SIGKILL", "after", "pwrite", 6, "apply", *VM)

    assert document(guest.pcietune("restore", "--json")).exit == 0

    assert guest.configs() == before
    assert not [f for f in audited(guest).findings if f.id == "apply.unfinished"]


def test_bare_metal_wants_the_redirection_gone_and_leaves_that_to_the_kernel(guest: Guest) -> None:
    found = document(guest.pcietune("audit", "--mode", "baremetal", "--json"))
    planned = document(guest.pcietune("plan", "--mode", "baremetal", "--json"))

    assert (found.exit, found.reboot_required) == (3, True)
    redirecting = [f for f in found.findings if f.id.endswith("Redir")]
    assert len(redirecting) == 2 * (len(NIC_PORTS) + 8 + 4)
    assert {f.state for f in redirecting} == {"fail"}
    assert {f.remedy.kind for f in redirecting if f.remedy} == {"kernel-args"}
    assert ("iommu.passthrough", "host") in states(found)["fail"]
    assert (planned.exit, planned.writes) == (0, [])


def test_the_recording_that_ships_is_judged_as_this_machine_is(guest: Guest) -> None:
    command = [sys.executable, "-m", "pcietune", "audit", *VM, "--json", "--from"]
    shipped = subprocess.run(
        [*command, RECORDED["a800"]], check=False, capture_output=True, text=True
    )

    assert msgspec.json.decode(shipped.stdout, type=Document).findings == audited(guest).findings
