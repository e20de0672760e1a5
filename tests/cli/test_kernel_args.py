"""pcietune kernel-args, as it is typed."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from host.boot_loader.roots import SOURCES_DIRECTORY, put
from trees.function import downstream_port, root_port
from trees.host import TreeHost
from trees.machines import one_switch

VM = ("--mode", "vm", "--profile", "gpu-rdma")
NIC_PORT = "0000:20:01.0/00.0/04.0"
# DirectTrans, leftmost, beside what Linux sets by itself, which the other ports have.
WORD = f"pci=config_acs=1011101@{NIC_PORT}"
SNIPPET = "etc/default/grub.d/50-pcietune.cfg"


def _host(root: Path, *, control: int = 0x001D, cmdline: str = "ro quiet") -> TreeHost:
    """Return a host with a fixed kernel; ``control`` is in its NIC's port."""
    port = downstream_port("0000:22:04.0", below="0000:21:00.0", acs=(0x005F, control))
    host = one_switch(root, instead=[port])
    host.put("proc/sys/kernel/osrelease", "6.16.1")
    host.put("proc/cmdline", cmdline)
    host.put("proc/kallsyms", "0 t __pci_config_acs")
    return host


def _without_a_nic_to_open(root: Path, *, control: int = 0x001D) -> TreeHost:
    """Return one whose ports have no DirectTrans, so that they owe what Linux sets by itself."""
    host = _host(root)
    port = downstream_port("0000:22:04.0", below="0000:21:00.0", acs=(0x001F, control))
    host.config("0000:22:04.0").write_bytes(port.config.build())
    return host


def _by_grub(host: TreeHost, text: str) -> None:
    """Give it a drop-in of ``grub-mkconfig``."""
    put(host.root, "usr/sbin/grub-mkconfig", SOURCES_DIRECTORY)
    put(host.root, SNIPPET, text)


def _check(pcietune: Pcietune, root: Path) -> Run:
    return pcietune("kernel-args", *VM, "--from", root, "--check")


def test_the_word_and_what_becomes_of_each_port_are_printed(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _host(tmp_path)

    run = pcietune("kernel-args", *VM, "--from", tmp_path)

    assert run.exit_code == 0
    assert WORD in run.stdout.splitlines()
    moved = "ACSCtl 0x001d -> 0x005d (DirectTrans+)"
    assert f"  0000:22:04.0  {NIC_PORT}  {moved}" in run.stdout.splitlines()


def test_json_has_the_same(pcietune: Pcietune, tmp_path: Path) -> None:
    _host(tmp_path)

    told = json.loads(pcietune("kernel-args", *VM, "--from", tmp_path, "--json").stdout)

    assert told["words"] == [WORD]
    assert told["cmdline"] == f"ro quiet {WORD}"
    assert told["bytes"] == len(f"ro quiet {WORD}")
    assert [port["then"] for port in told["ports"]] == ["0x001d", "0x001d", "0x005d"]


def test_a_kernel_that_is_named_goes_by_its_number(pcietune: Pcietune, tmp_path: Path) -> None:
    _host(tmp_path)

    run = pcietune("kernel-args", *VM, "--from", tmp_path, "--for", "6.8")

    assert run.exit_code == 3
    assert "not known there, which came with 6.11; distributions backport" in run.stdout
    assert "pci=config_acs=0" not in run.stdout


def test_the_running_kernel_is_probed_whatever_its_number_says(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _host(tmp_path)
    host.put("proc/sys/kernel/osrelease", "5.14.0-611.el9.x86_64")

    backported = pcietune("kernel-args", *VM, "--from", tmp_path)
    host.put("proc/kallsyms", "0 t pci_enable_acs")
    without = pcietune("kernel-args", *VM, "--from", tmp_path)

    assert (backported.exit_code, without.exit_code) == (0, 3)
    assert WORD in backported.stdout
    assert "does not know pci=config_acs=" in without.stdout


def test_what_is_no_release_is_refused(pcietune: Pcietune, tmp_path: Path) -> None:
    _host(tmp_path)

    run = pcietune("kernel-args", *VM, "--from", tmp_path, "--for", "bookworm")

    assert run.exit_code == 4
    assert "--for 'bookworm' is no kernel release" in run.stderr


@pytest.mark.parametrize("options", [("--write", "grub"), ("--undo",)])
def test_a_recording_is_not_written_to(
    pcietune: Pcietune, tmp_path: Path, options: tuple[str, ...]
) -> None:
    _host(tmp_path)

    run = pcietune("kernel-args", *VM, "--from", tmp_path, "--yes", *options)

    assert run.exit_code == 4
    assert "is for the host itself: a recording has no boot loader" in run.stderr


@pytest.mark.parametrize(
    "options", [("--check", "--undo"), ("--check", "--for", "6.12"), ("--check", "--write", "grub")]
)
def test_options_that_contradict_are_refused(
    pcietune: Pcietune, tmp_path: Path, options: tuple[str, ...]
) -> None:
    _host(tmp_path)

    assert pcietune("kernel-args", *VM, "--from", tmp_path, *options).exit_code == 4


def test_without_a_gpu_there_is_nothing_to_say(pcietune: Pcietune, tmp_path: Path) -> None:
    TreeHost(tmp_path).add(root_port("0000:20:01.0"))

    run = pcietune("kernel-args", "--mode", "vm", "--from", tmp_path)

    assert run.exit_code == 0
    assert "There is no GPU on this host" in run.stdout


# linux-rdma/rdma-core#1802 (B05): the file exists, and nothing else.


def test_a_file_alone_is_not_applied(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host(tmp_path)
    _by_grub(host, f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {_quoted(WORD)}"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 3
    assert f"as wanted  files in /{SNIPPET}:1" in run.stdout
    assert f"not        command line in /proc/cmdline: {NIC_PORT}" in run.stdout
    assert f"not        registers: {NIC_PORT}" in run.stdout
    assert "LOST  a file asks for it, but the kernel was not given it" in run.stdout


def test_registers_that_apply_set_do_not_make_a_file_applied(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _host(tmp_path, control=0x005D)
    _by_grub(host, f'GRUB_CMDLINE_LINUX="{_quoted(WORD)}"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 3
    assert "as wanted  registers" in run.stdout
    assert "the kernel was not given it" in run.stdout


def test_a_comment_is_no_file_that_asks(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host(tmp_path, control=0x005D, cmdline=f"ro {WORD}")
    _by_grub(host, f'#GRUB_CMDLINE_LINUX="{_quoted(WORD)}"\nGRUB_CMDLINE_LINUX="quiet"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 3
    assert "no file asks for it: the next boot may not have it" in run.stdout


def test_a_register_that_is_otherwise_is_the_one_that_lost_it(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _host(tmp_path, cmdline=f"ro {WORD}")
    _by_grub(host, f'GRUB_CMDLINE_LINUX="{_quoted(WORD)}"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 3
    assert f"not        registers: {NIC_PORT}" in run.stdout
    assert "LOST  the kernel was given it, but the registers are otherwise" in run.stdout


def test_what_holds_everywhere_exits_0(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host(tmp_path, control=0x005D, cmdline=f"ro {WORD}")
    _by_grub(host, f'GRUB_CMDLINE_LINUX="{_quoted(WORD)}"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 0
    assert "held  the words are in the files" in run.stdout


def test_a_word_that_says_something_else_does_not_do_it(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _host(tmp_path, control=0x005D)
    _by_grub(host, f'GRUB_CMDLINE_LINUX="pci=config_acs=1xxxxxx@{NIC_PORT}"\n')

    run = pcietune("kernel-args", *VM, "--from", tmp_path, "--check", "--json")

    told = json.loads(run.stdout)["check"]
    assert (run.exit_code, told["holds"], told["loader"]) == (3, False, "grub")
    files = told["stages"][0]
    # x is what firmware left: that is not known to isolate.
    assert files["lacking"] == [NIC_PORT]
    assert told["verdict"].startswith("what the files and the kernel command line say")


def test_where_the_kernel_needs_no_word_none_is_missed(pcietune: Pcietune, tmp_path: Path) -> None:
    host = _without_a_nic_to_open(tmp_path)
    _by_grub(host, 'GRUB_CMDLINE_LINUX="quiet"\n')

    told = pcietune("kernel-args", *VM, "--from", tmp_path)
    checked = _check(pcietune, tmp_path)

    assert (told.exit_code, checked.exit_code) == (0, 0)
    assert "the kernel by itself sets every port as wanted, so no word is needed" in told.stdout
    assert "held  the kernel by itself sets every port as wanted" in checked.stdout


def test_what_was_lost_of_what_the_kernel_sets_by_itself_is_not_looked_for_in_files(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _without_a_nic_to_open(tmp_path, control=0x0019)
    _by_grub(host, 'GRUB_CMDLINE_LINUX="quiet"\n')

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 3
    assert "they were changed since boot: pcietune audit tells which" in run.stdout


def test_what_misleads_in_a_file_is_told_before_it_is_booted(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = _host(tmp_path)
    words = f"pci=noacs pci=disable_acs_redir={NIC_PORT},0000:22:00.0 intel_iommu=on amd_iommu=on"
    _by_grub(host, f'GRUB_CMDLINE_LINUX="{words}"\n')

    lines = _check(pcietune, tmp_path).stdout.splitlines()

    for start in (
        "warning  pci=noacs: the kernel has no such option",
        "warning  0000:22:00.0: a comma ends the list of devices",
        "info  intel_iommu=on amd_iommu=on: a host has IOMMUs of one maker",
    ):
        assert sum(line.startswith(start) for line in lines) == 1


def test_a_recording_that_has_no_such_files_does_not_tell(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _host(tmp_path)

    run = _check(pcietune, tmp_path)

    assert run.exit_code == 4
    assert "so what they ask for is not known" in run.stderr


def _quoted(word: str) -> str:
    name, _, value = word.rpartition("=")
    return rf"{name}=\"{value}\""
