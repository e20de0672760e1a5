"""What `pcietune kernel-args` says has the kernel itself set the ports, before any program runs."""

import pytest

from bench.guest import Guest
from bench.machine import load_machine
from bench.on_guest import addresses, direct_translated
from bench.systemd import boot_trace

WORD = load_machine("boot-args").append[0]
PROFILE = ("--profile", "gpu-rdma", "--mode", "vm")


@pytest.mark.machine("small")
def test_without_the_word_kernel_args_says_it(guest: Guest) -> None:
    told = guest.pcietune("kernel-args", *PROFILE)

    assert WORD in told.stdout.split()


@pytest.mark.machine("boot-args")
def test_with_the_word_the_kernel_sets_the_ports_and_apply_has_nothing_to_write(
    guest: Guest,
) -> None:
    assert "Configured ACS to 0x005d" in guest.run("dmesg").stdout
    assert boot_trace(guest).wrote == []
    assert direct_translated(guest) == addresses(guest, "port1")


@pytest.mark.machine("boot-args")
def test_files_command_line_and_registers_agree_once_the_word_is_written(guest: Guest) -> None:
    before = guest.pcietune("kernel-args", "--check")
    written = guest.pcietune("kernel-args", "--write", "systemd-boot", "--yes")
    again = guest.pcietune("kernel-args", "--write", "systemd-boot", "--yes")
    after = guest.pcietune("kernel-args", "--check")

    assert [each.returncode for each in (before, written, again, after)] == [3, 0, 0, 0], after
    assert guest.read_file("/etc/kernel/cmdline").decode().split() == ["quiet", WORD]
