"""What a user may get wrong: each with its message, its hint and its exit code."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli.in_process import Pcietune
from host.hindered import as_nobody
from trees.machines import one_switch

SUMMARY = "Any NVIDIA GPUs and ConnectX or BlueField NICs below common PCIe switches"
VM = ("--profile", "gpu-rdma", "--mode", "vm")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return one_switch(tmp_path / "host").root


@pytest.fixture
def ours(pcietune: Pcietune, tmp_path: Path) -> Path:
    """Return a profile file of the site's own, whole yet."""
    file = tmp_path / "ours.yaml"
    file.write_text(pcietune("profile", "show", "gpu-rdma").stdout)
    return file


def _change(file: Path, old: str, new: str) -> str:
    """Replace a part of the file; return ``FILE:LINE:COLUMN`` of where that was."""
    before, found, after = file.read_text().partition(old)
    assert found
    file.write_text(before + new + after)
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    return f"{file}:{line}:{column}"


# Profiles


def test_a_profile_that_does_not_exist_is_refused_with_the_nearest_name(
    pcietune: Pcietune, host: Path
) -> None:
    run = pcietune("audit", "--from", host, "--mode", "vm", "--profile", "gpu-rdna")

    assert run.exit_code == 4
    assert run.stderr == (
        "pcietune: no profile is called 'gpu-rdna'; did you mean 'gpu-rdma'?\n"
        "  try: pcietune profile list shows all of them; a file is named by its path\n"
    )


def test_an_empty_name_is_no_profile_and_not_a_wish_to_match(
    pcietune: Pcietune, host: Path
) -> None:
    run = pcietune("audit", "--from", host, "--mode", "vm", "--profile", "")

    assert run.exit_code == 4
    assert "no profile is called ''" in run.stderr


def test_a_profile_file_that_does_not_exist_is_named(
    pcietune: Pcietune, host: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.yaml"

    run = pcietune("audit", "--from", host, "--mode", "vm", "--profile", missing)

    assert run.exit_code == 4
    assert run.stderr.startswith(f"pcietune: {missing}: no such file\n")


def test_a_profile_that_is_no_yaml_is_refused(pcietune: Pcietune, host: Path, ours: Path) -> None:
    _change(ours, "roles:", "roles: [")

    run = pcietune("audit", "--from", host, "--mode", "vm", "--profile", ours)

    assert run.exit_code == 4
    assert run.stderr.startswith(f"pcietune: {ours}:")
    assert "\n  try: " in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param(
            "modes:",
            "moods:",
            "unknown key 'moods'; did you mean 'modes'?",
            id="unknown key",
        ),
        pytest.param(
            "modes:",
            "version: 1\nmodes:",
            "repeated key 'version', first on line 4",
            id="repeated key",
        ),
        pytest.param(
            SUMMARY,
            "0000:41:00.1",
            "expected text, but YAML reads 0000:41:00.1 as the number 2460.1; quote it: "
            '"0000:41:00.1"',
            id="address that YAML reads as a number",
        ),
    ],
)
def test_a_profile_that_breaks_the_format_is_told_where(
    pcietune: Pcietune, ours: Path, old: str, new: str, complaint: str
) -> None:
    host = one_switch(ours.parent / "host")
    place = _change(ours, old, new)

    run = pcietune("audit", "--from", host.root, "--mode", "vm", "--profile", ours)

    assert run.exit_code == 4
    assert f"{place}: {complaint}" in run.stderr
    assert "\n  try: " in run.stderr


def test_a_profile_of_another_kind_of_host_says_what_is_missing(
    pcietune: Pcietune, host: Path, ours: Path
) -> None:
    _change(ours, "place: switch-group", 'ids: ["10de:2330"]')

    run = pcietune("audit", "--from", host, "--mode", "vm", "--profile", ours)

    assert run.exit_code == 9
    assert run.stderr == (
        "pcietune: profile ours does not describe this host: no function 10de:2330\n"
        "  try: pcietune profile match says which one does\n"
    )


# Settings and modes


def test_without_a_mode_none_is_guessed(pcietune: Pcietune, host: Path) -> None:
    run = pcietune("audit", "--from", host, "--profile", "gpu-rdma")

    assert run.exit_code == 4
    assert run.stderr == (
        "pcietune: no mode is set, and pcietune does not guess whether this host serves VMs\n"
        "  try: add --mode vm or --mode baremetal, or `mode: vm` to /etc/pcietune/pcietune.yaml\n"
    )


def test_the_mode_may_be_set_on_the_host(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("etc/pcietune/pcietune.yaml", "mode: vm\nprofile: gpu-rdma")

    run = pcietune("audit", "--from", tmp_path, "--json")

    assert (run.exit_code, run.document().mode) == (3, "vm")


def test_an_option_beats_the_setting(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("etc/pcietune/pcietune.yaml", "mode: vm\nprofile: gpu-rdma")

    run = pcietune("audit", "--from", tmp_path, "--mode", "baremetal", "--json")

    assert run.document().mode == "baremetal"


@pytest.mark.parametrize("command", ["status", "audit", "plan", "topo"])
def test_broken_settings_end_every_command(
    pcietune: Pcietune, tmp_path: Path, command: str
) -> None:
    file = one_switch(tmp_path).put("etc/pcietune/pcietune.yaml", "mode: vn")

    run = pcietune(command, "--from", tmp_path)

    assert run.exit_code == 4
    assert f"{file}:1:7: " in run.stderr
    assert "'vn' is not valid here; valid: vm, baremetal" in run.stderr


# Recorded hosts


def test_a_recording_that_does_not_exist_is_named(pcietune: Pcietune, tmp_path: Path) -> None:
    missing = tmp_path / "missing.tar"

    run = pcietune("audit", "--from", missing, *VM)

    assert run.exit_code == 4
    assert run.stderr == (
        f"pcietune: {missing}: there is no such file or directory\n"
        "  try: name a file that pcietune record or lspci -D -xxxx made\n"
    )


def test_a_recording_that_this_user_may_not_read_is_not_permitted(pcietune: Pcietune) -> None:
    with TemporaryDirectory() as reachable:
        Path(reachable).chmod(0o755)
        file = Path(reachable, "host.tar")
        file.touch(0o000)

        with as_nobody():
            run = pcietune("audit", "--from", file, "--mode", "vm")

    assert run.exit_code == 5
    assert "try: run pcietune as root" in run.stderr


def test_a_file_that_is_no_archive_is_refused(pcietune: Pcietune, tmp_path: Path) -> None:
    file = tmp_path / "host.tar"
    file.write_text("not a tar file\n" * 100)

    run = pcietune("audit", "--from", file, *VM)

    assert run.exit_code == 4
    assert run.stderr.startswith(
        f"pcietune: {file}:1: this is neither an archive nor a text that tells of a host\n"
    )
    assert "try: --from takes: an archive or directory of pcietune record, lspci " in run.stderr


def test_a_directory_that_is_no_host_is_refused(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("audit", "--from", tmp_path, *VM)

    assert run.exit_code == 4
    assert run.stderr.startswith(f"pcietune: {tmp_path} is not a recorded host: ")


def test_the_machines_own_root_is_no_recording(pcietune: Pcietune) -> None:
    run = pcietune("apply", "--from", "/", "--in-place", *VM)

    assert run.exit_code == 4
    assert run.stderr == (
        "pcietune: / is this machine, not a recorded host\n  try: leave out --from to look at it\n"
    )


@pytest.mark.parametrize("command", ["apply", "restore"])
def test_a_recording_is_not_changed_without_a_place_for_the_result(
    pcietune: Pcietune, host: Path, command: str
) -> None:
    run = pcietune(command, "--from", host)

    assert run.exit_code == 4
    assert run.stderr == (
        f"pcietune: {host} is a recording: where shall the result go?\n"
        "  try: add either --to FILE or --in-place\n"
    )


def test_two_places_for_the_result_are_refused_and_neither_is_written(
    pcietune: Pcietune, host: Path, tmp_path: Path
) -> None:
    run = pcietune("apply", "--from", host, "--to", tmp_path / "b.tar", "--in-place", *VM)

    assert run.exit_code == 4
    assert run.stderr == (
        "pcietune: --to and --in-place: only one of both\n"
        "  try: --in-place writes the result back to the recording, --to FILE to another file\n"
    )
    assert not (tmp_path / "b.tar").exists()


@pytest.mark.parametrize("place", [("--to", "b.tar"), ("--in-place",)], ids=["to", "in-place"])
def test_a_place_for_the_result_is_refused_without_a_recording(
    pcietune: Pcietune, place: tuple[str, ...]
) -> None:
    run = pcietune("apply", *place, *VM)

    assert run.exit_code == 4
    assert run.stderr == (
        "pcietune: --to and --in-place are for recorded hosts\n  try: name one with --from FILE\n"
    )


def test_a_result_for_a_place_that_does_not_exist_ends_with_the_reason(
    pcietune: Pcietune, host: Path, tmp_path: Path
) -> None:
    run = pcietune("apply", "--from", host, "--to", tmp_path / "missing/b.tar", *VM)

    assert run.exit_code == 4
    assert "cannot be a file: it is a directory, or is in none" in run.stderr
    assert run.stdout == ""  # told before the work, not after it
    assert "  try: name a file in a directory that exists\n" in run.stderr
