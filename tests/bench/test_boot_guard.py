"""Boots that do not go well: a host that does not come up, and a boot unit that hangs."""

import pytest

from bench.guest import Guest
from bench.on_guest import addresses, audited, direct_translated, states
from bench.systemd import boot_trace

UNIT = "pcietune-apply.service"
HUNG = """[Service]
ExecStart=
ExecStart=/usr/bin/strace -f -o /dev/null -e trace=pwrite64 \
-e inject=pwrite64:delay_exit=120000000 /usr/bin/pcietune apply --unattended
"""


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
    guest.pcietune("restore", "--while-in-use")
    drop_in = f"/run/systemd/system/{UNIT}.d"
    guest.run("mkdir", "-p", drop_in)
    guest.write_file(f"{drop_in}/hung.conf", HUNG.encode())
    guest.run("systemctl", "daemon-reload")

    guest.run("systemctl", "restart", UNIT, timeout=90)

    result = guest.run("systemctl", "show", "-p", "Result", "--value", UNIT).stdout
    left = states(audited(guest))["fail"]
    guest.run("rm", "-r", drop_in)
    guest.run("systemctl", "daemon-reload")
    again = guest.run("systemctl", "restart", UNIT, timeout=90)
    assert result == "timeout\n"
    assert ("apply.unfinished", guest.location("switch0")) in left
    assert again.returncode == 0
    assert "apply.unfinished" not in {f.id for f in audited(guest).findings}
    assert direct_translated(guest) == addresses(guest, "port1")
