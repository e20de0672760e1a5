"""Boots that do not go well: a host that does not come up, and a boot unit that hangs."""

import pytest

from bench.guest import Guest
from bench.on_guest import addresses, audited, direct_translated, states
from bench.systemd import boot_trace
from bench.waiting import until

UNIT = "pcietune-apply.service"
DROP_INS = f"/run/systemd/system/{UNIT}.d"
HUNG = """[Service]
ExecStart=
ExecStart=/usr/bin/strace -f --seccomp-bpf -o /dev/null -e trace=pwrite64 \
-e inject=pwrite64:delay_exit=600000000 /usr/bin/pcietune apply --unattended
"""
PATIENT = "[Service]\nTimeoutStartSec=infinity\n"


@pytest.mark.machine("boot-guard")
def test_after_two_boots_that_did_not_come_up_the_third_is_only_judged(guest: Guest) -> None:
    noted = boot_trace(guest)

    assert (noted.wrote, [each for each in noted.bound if each.driver == "vfio-pci"]) == ([], [])
    journal = guest.run("journalctl", "-u", UNIT).stdout
    assert "the last 2 boots never reached multi-user.target" in journal
    assert guest.run("systemctl", "is-active", UNIT).stdout == "active\n"
    assert "the last 2 boots never reached multi-user.target" in guest.pcietune("status").stdout


@pytest.mark.machine("boot-guard")
def test_once_it_has_come_up_the_list_is_gone_and_a_typed_apply_writes(guest: Guest) -> None:
    assert guest.run("ls", "/etc/pcietune").stdout == "pcietune.yaml\n"

    assert guest.pcietune("apply").returncode == 0

    assert direct_translated(guest) == addresses(guest, "port1")


@pytest.mark.machine("boot-early")
def test_a_boot_unit_that_hangs_is_ended_and_the_next_apply_finishes(guest: Guest) -> None:
    port = addresses(guest, "port1")
    guest.pcietune("restore", "--while-in-use")
    guest.run("mkdir", "-p", DROP_INS)
    guest.write_file(f"{DROP_INS}/hung.conf", HUNG.encode())
    guest.write_file(f"{DROP_INS}/patient.conf", PATIENT.encode())
    guest.run("systemctl", "daemon-reload")
    guest.run("systemctl", "restart", "--no-block", UNIT)
    until(lambda: direct_translated(guest) == port, seconds=120)  # it hangs after that write

    # From here on the unit's own time counts, from when it was started.
    guest.run("rm", f"{DROP_INS}/patient.conf")
    guest.run("systemctl", "daemon-reload")

    until(lambda: _shown(guest, "ActiveState") == "failed", seconds=120)
    result = _shown(guest, "Result")
    left = states(audited(guest))["fail"]
    guest.run("rm", "-r", DROP_INS)
    guest.run("systemctl", "daemon-reload")
    again = guest.run("systemctl", "restart", UNIT, timeout=90)
    assert result == "timeout"
    assert ("apply.unfinished", guest.location("switch0")) in left
    assert again.returncode == 0
    assert "apply.unfinished" not in {f.id for f in audited(guest).findings}
    assert direct_translated(guest) == port


def _shown(guest: Guest, of_unit: str) -> str:
    return guest.run("systemctl", "show", "-p", of_unit, "--value", UNIT).stdout.strip()
