"""What ``pcietune paths A B`` says where a way is not as it should be: port and bit, in words."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import downstream_port, root_port
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT

ROOT_PORT = "0000:20:01.0"
CAPABLE = 0x7F


def _told(pcietune: Pcietune, root: Path, words: dict[str, int], *mode: str) -> list[str]:
    """Return the lines on a NIC's writes to the GPU, with these words in the ports' ACSCtl."""
    instead = [
        root_port(port, acs=(CAPABLE, word))
        if port == ROOT_PORT
        else downstream_port(port, below="0000:21:00.0", acs=(CAPABLE, word))
        for port, word in words.items()
    ]
    tree = one_switch(root, instead=instead)
    run = pcietune("paths", NIC, GPU, *mode, "--from", tree.root)
    assert run.exit_code == 0, run.stderr
    lines = run.stdout.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("NIC0 asks GPU0")))
    return lines[start : lines.index("", start)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({NIC_PORT: 0x1F}, f"blocked: {NIC_PORT}: TransBlk+"),
        ({ROOT_PORT: 0x1F, NIC_PORT: 0x5D}, f"blocked: {ROOT_PORT}: TransBlk+"),
        ({NIC_PORT: 0x5D}, f"direct: {NIC_PORT}: "),
        ({NIC_PORT: 0x1D}, f"via root complex: {NIC_PORT} DirectTrans- ReqRedir+"),
        ({ROOT_PORT: 0x0D}, f"turned above: {ROOT_PORT}: "),
    ],
)
def test_a_translated_write_ends_where_the_bit_says(
    pcietune: Pcietune, tmp_path: Path, words: dict[str, int], said: str
) -> None:
    told = _told(pcietune, tmp_path, words, "--mode", "vm")

    assert told[1].startswith("  posted write, translated: ")
    assert said in told[1]


def test_what_is_turned_above_is_explained(pcietune: Pcietune, tmp_path: Path) -> None:
    told = _told(pcietune, tmp_path, {ROOT_PORT: 0x0D}, "--mode", "vm")

    assert "    sent up, and turned by a port higher up, past the IOMMU" in told


def test_data_read_comes_back_through_the_root_complex_without_relaxed_ordering(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    told = _told(pcietune, tmp_path, {NIC_PORT: 0x5D, GPU_PORT: 0x1D}, "--mode", "vm")
    (line,) = [each for each in told if "completion, without Relaxed Ordering" in each]

    assert f"via root complex: {GPU_PORT}" in line
    assert "CmpltRedir+" in line


def test_where_completions_are_not_redirected_they_are_direct(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    told = _told(pcietune, tmp_path, {NIC_PORT: 0x5D, GPU_PORT: 0x15}, "--mode", "vm")
    (line,) = [each for each in told if "completion, without Relaxed Ordering" in each]

    assert f"direct: {GPU_PORT}" in line


def test_the_cure_is_the_port_and_bit_and_how(pcietune: Pcietune, tmp_path: Path) -> None:
    told = _told(pcietune, tmp_path, {NIC_PORT: 0x1D}, "--mode", "vm")
    start = next(i for i, line in enumerate(told) if line.startswith("  to make it direct: "))

    assert told[start].startswith(f"  to make it direct: {NIC_PORT} DirectTrans+")
    assert told[start + 1].endswith("register: pcietune plan --mode vm; pcietune apply --mode vm")
