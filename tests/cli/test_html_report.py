"""The HTML report as a file: what is in it, and when none is written. tests/browser opens it."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions
from trees.machines import one_switch

VM = ("--mode", "vm", "--profile", "gpu-rdma")
NIC_PORT = "0000:22:04.0"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "host.html"


def test_two_runs_write_the_same_bytes_to_a_file_as_to_stdout(
    pcietune: Pcietune, tmp_path: Path, page: Path
) -> None:
    host = one_switch(tmp_path / "host").root
    first = pcietune("report", page, *VM, "--from", host)
    written = page.read_text()
    second = pcietune("report", "-", *VM, "--from", host)

    assert (first.exit_code, first.stdout, second.exit_code) == (0, f"wrote {page}\n", 0)
    assert second.stdout == written


def test_a_page_names_bridge_and_bit_of_what_is_not_direct(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path / "host").root
    text = pcietune("report", "-", *VM, "--from", host).stdout

    assert f"via root complex by {NIC_PORT} DirectTrans- ReqRedir+" in text
    assert "port.nic-side.DirectTrans" in text
    assert "pcietune apply --mode vm" in text


def test_without_a_mode_nothing_is_judged_and_routes_are_told(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path / "host").root
    run = pcietune("report", "-", "--from", host)

    assert run.exit_code == 0
    assert 'id="findings"' not in run.stdout
    assert 'id="route-NIC0-GPU0"' in run.stdout
    assert "Once the profile holds" not in run.stdout


def test_values_of_the_command_line_that_a_recording_hides_are_hidden_too(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("proc/cmdline", "root=LABEL=private intel_iommu=on")

    text = pcietune("report", "-", *VM, "--from", tree.root).stdout

    assert "private" not in text
    assert "intel_iommu=on" in text


def test_what_firmware_says_is_text_and_never_markup(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.put("sys/class/dmi/id/sys_vendor", "</title><script>alert(1)</script>\u202e")

    text = pcietune("report", "-", *VM, "--from", tree.root).stdout

    assert "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in text
    assert text.count("<script>") == 1


def test_of_a_dump_the_groups_are_said_not_to_be_known(pcietune: Pcietune, tmp_path: Path) -> None:
    file = tmp_path / "dump"
    file.write_text(dump(one_switch_functions()))

    run = pcietune("report", "-", "--from", file)

    assert run.exit_code == 0
    assert "Not known: this source does not tell them." in run.stdout
    assert "group not known" in run.stdout


def test_a_directory_is_no_place_for_a_page(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path / "host").root
    run = pcietune("report", tmp_path, *VM, "--from", host)

    assert run.exit_code == 4
    assert f"{tmp_path} cannot be a file" in run.stderr
