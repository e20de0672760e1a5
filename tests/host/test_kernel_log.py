"""The kernel's log, by records as Documentation/ABI/testing/dev-kmsg has them."""

from pathlib import Path

from trees.host import TreeHost

from pcietune.host.host_files import HostFiles
from pcietune.host.kernel_log import read_kernel_log
from pcietune.model.kernel_log import LogLine

RECORDS = """\
6,339,5140900,-;NET: Registered PF_NETLINK protocol family
30,340,5690716,-;udevd[80]: starting version 181
4,341,5690800,-,caller=T17;pci 0000:24:00.0: vgaarb: bridge control; possible
 SUBSYSTEM=pci
 DEVICE=+pci:0000:24:00.0"""


def _log(root: Path, *, recorded: bool = False) -> tuple[LogLine, ...] | None:
    return read_kernel_log(HostFiles(root, recorded=recorded))


def test_the_log_has_what_the_kernel_itself_said(tmp_path: Path) -> None:
    TreeHost(tmp_path).put("dev/kmsg", RECORDS)

    assert _log(tmp_path) == (
        LogLine(5140900, "NET: Registered PF_NETLINK protocol family"),
        LogLine(5690800, "pci 0000:24:00.0: vgaarb: bridge control; possible"),
    )


def test_a_log_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    TreeHost(tmp_path)

    assert _log(tmp_path) is None


def test_a_recording_has_no_log(tmp_path: Path) -> None:
    TreeHost(tmp_path).put("dev/kmsg", RECORDS)

    assert _log(tmp_path, recorded=True) is None


def test_what_is_no_file_of_records_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "dev/kmsg").mkdir(parents=True)

    assert _log(tmp_path) is None


def test_numbers_that_no_kernel_counts_to_are_of_no_record(tmp_path: Path) -> None:
    TreeHost(tmp_path).put(
        "dev/kmsg", f"4,1,{'9' * 5000},-;late\n{'9' * 5000},1,2,-;odd\n4,2,7,-;here"
    )

    assert _log(tmp_path) == (LogLine(7, "here"),)
