"""Hosts that may not be written to: message, hint, exit code, and that nothing is written."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.host import TreeHost
from trees.machines import one_switch

NIC_PORT = "0000:22:04.0"
VM = ("--profile", "gpu-rdma", "--mode", "vm")
ANOTHER_BOOT = "11111111-2222-4333-8444-555555555555"

# Switched off


def _switch_off_by_argument(host: TreeHost) -> str:
    host.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz ro pcietune=off quiet")
    return "pcietune=off is on the kernel command line"


def _switch_off_by_file(host: TreeHost) -> str:
    host.put("etc/pcietune/disabled", "")
    return "/etc/pcietune/disabled exists"


SWITCHES = pytest.mark.parametrize(
    "switch_off", [_switch_off_by_argument, _switch_off_by_file], ids=["argument", "file"]
)
Switch = Callable[[TreeHost], str]


@SWITCHES
def test_where_it_is_switched_off_apply_writes_nothing(
    pcietune: Pcietune, tmp_path: Path, switch_off: Switch
) -> None:
    host = one_switch(tmp_path)
    why = switch_off(host)
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    assert run.exit_code == 11
    assert run.stderr == (
        f"pcietune: pcietune is switched off here: {why}\n"
        "  try: rm /etc/pcietune/disabled, or boot without pcietune=off\n"
    )
    assert host.config(NIC_PORT).read_bytes() == before


@SWITCHES
@pytest.mark.parametrize("command", ["status", "audit", "plan"])
def test_where_it_is_switched_off_the_reading_commands_work_and_say_so(
    pcietune: Pcietune, tmp_path: Path, switch_off: Switch, command: str
) -> None:
    why = switch_off(one_switch(tmp_path))

    run = pcietune(command, "--from", tmp_path, *VM, "--json")

    assert run.exit_code == (0 if command == "status" else 3)
    assert run.document().disabled == why


def test_where_it_is_switched_off_restore_still_works(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)
    host.put("etc/pcietune/disabled", "")

    run = pcietune("restore", "--from", tmp_path, "--in-place", "--json")

    assert run.exit_code == 0
    assert [write.new for write in run.document().writes] == ["0x001d"]


# The kernel's lockdown


def test_under_lockdown_apply_names_the_kernel_argument(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("sys/kernel/security/lockdown", "none [integrity] confidentiality")

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    assert run.exit_code == 5
    assert run.stderr == (
        "pcietune: registers may not be written: the kernel is locked down (integrity)\n"
        "  try: set the bits with pci=config_acs= on the kernel command line: "
        "pcietune kernel-args\n"
    )


def test_under_lockdown_audit_works_and_names_the_closed_channel(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    host.put("sys/kernel/security/lockdown", "none [integrity] confidentiality")

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert run.exit_code == 3
    assert run.document().channels["registers"].state == "closed"


# What is kept below /run


def test_an_undo_record_of_another_boot_is_not_restored(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    boot = (tmp_path / "proc/sys/kernel/random/boot_id").read_text().strip()
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)
    host.put("proc/sys/kernel/random/boot_id", ANOTHER_BOOT)
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("restore", "--from", tmp_path, "--in-place")

    assert run.exit_code == 4
    assert run.stderr == (
        f"pcietune: the undo record is of another boot ({boot}, this one is {ANOTHER_BOOT}): what "
        "it says of the registers need not be true any more\n"
        "  try: compare with pcietune audit; the next apply begins a new record\n"
    )
    assert host.config(NIC_PORT).read_bytes() == before


def test_bits_found_set_after_another_boot_are_left_by_restore_and_named(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)
    host.put("proc/sys/kernel/random/boot_id", ANOTHER_BOOT)

    again = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")
    restored = pcietune("restore", "--from", tmp_path, "--in-place")

    assert (again.exit_code, again.document().changed) == (0, False)
    assert f"left  {NIC_PORT}: set before this boot's first apply" in restored.stdout
    assert host.config(NIC_PORT).read_bytes()[0x106:0x108] == b"\x5d\x00"


def test_without_a_run_directory_nothing_is_written(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("run", "no directory")
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    assert run.exit_code == 5
    assert run.stderr.startswith(
        f"pcietune: cannot keep the lock in {tmp_path}/run/pcietune: Not a directory\n"
    )
    assert host.config(NIC_PORT).read_bytes() == before


def test_a_broken_undo_record_is_told_and_nothing_is_written(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    record = host.put("run/pcietune/undo.jsonl", "nonsense\n{}")
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    assert run.exit_code == 4
    assert str(record) in run.stderr
    assert host.config(NIC_PORT).read_bytes() == before


# Functions in use by VFIO


def test_nothing_is_written_above_a_function_in_use(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host_with_a_running_vm(tmp_path)
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    (deferred,) = run.document().deferred
    assert run.exit_code == 3
    assert (deferred.address, deferred.what) == (NIC_PORT, "DirectTrans+")
    assert deferred.reason == "in use by VFIO: 0000:24:00.0"
    assert host.config(NIC_PORT).read_bytes() == before


def test_it_is_written_if_that_is_asked_for(pcietune: Pcietune, tmp_path: Path) -> None:
    _host_with_a_running_vm(tmp_path)

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--while-in-use", "--json")

    assert run.exit_code == 0
    assert [write.address for write in run.document().writes] == [NIC_PORT]


def _host_with_a_running_vm(root: Path) -> TreeHost:
    host = one_switch(root, driver="vfio-pci")
    host.put(f"{host.directory('0000:24:00.0').relative_to(root)}/enable", "1")
    return host


def test_where_the_kernel_does_not_say_which_boot_this_is_nothing_is_written(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)
    (tmp_path / "proc/sys/kernel/random/boot_id").unlink()

    run = pcietune("apply", "--from", tmp_path, "--in-place", "--mode", "vm", "--json")

    assert (run.exit_code, run.document().writes) == (5, [])
    assert "no undo record can be kept" in run.document().errors[0].message


def test_settings_that_cannot_be_used_keep_nobody_from_restoring(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    pcietune("apply", "--from", tmp_path, "--in-place", "--mode", "vm")
    host.put("etc/pcietune/pcietune.yaml", "mode: VM")

    run = pcietune("restore", "--from", tmp_path, "--in-place", "--json")

    assert (run.exit_code, run.document().changed) == (0, True)
