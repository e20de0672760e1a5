"""``pcietune paths`` of parts of a dump: routes of another fabric are worse than none."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions


def _part(directory: Path, *buses: str) -> Path:
    """Return the dump of those functions of a switch that are on these buses."""
    file = directory / "part.txt"
    blocks = dump(one_switch_functions()).strip().split("\n\n")
    file.write_text("\n\n".join(block for block in blocks if block[5:7] in buses) + "\n")
    return file


@pytest.mark.parametrize("options", [(), ("--isolation",)])
def test_endpoints_alone_are_refused(
    pcietune: Pcietune, tmp_path: Path, options: tuple[str, ...]
) -> None:
    run = pcietune("paths", *options, "--from", _part(tmp_path, "23", "24"))

    assert run.exit_code == 4
    assert "no bridge here leads to bus 23 of 0000:23:00.0: this is an excerpt" in run.stderr
    assert "lspci -D -xxxx" in run.stderr


def test_ports_of_a_switch_are_not_taken_for_root_ports(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("paths", "--from", _part(tmp_path, "22", "23", "24"))

    assert run.exit_code == 4
    assert "no bridge here leads to bus 22 of 0000:22:00.0" in run.stderr


def test_a_whole_switch_is_followed(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("paths", "--from", _part(tmp_path, "20", "21", "22", "23", "24"))

    assert run.exit_code == 0
    assert "NIC0  PIX" in run.stdout
