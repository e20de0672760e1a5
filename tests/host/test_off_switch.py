"""Two ways to switch pcietune off on a host."""

from pathlib import Path

import pytest
from trees.host import TreeHost

from pcietune.host.host_files import HostFiles
from pcietune.host.off_switch import why_switched_off


def _why(host: TreeHost) -> str | None:
    return why_switched_off(HostFiles(host.root, recorded=False))


def test_a_host_is_not_switched_off_by_itself(tmp_path: Path) -> None:
    assert _why(TreeHost(tmp_path)) is None


def test_a_word_on_the_kernel_command_line_switches_it_off(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro pcietune=off quiet")

    assert _why(host) == "pcietune=off is on the kernel command line"


@pytest.mark.parametrize("word", ["pcietune=on", "pcietune=offline", "not.pcietune=off"])
def test_other_words_do_not(tmp_path: Path, word: str) -> None:
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", f"ro {word} quiet")

    assert _why(host) is None


def test_a_file_switches_it_off(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.put("etc/pcietune/disabled", "")

    assert _why(host) == "/etc/pcietune/disabled exists"
