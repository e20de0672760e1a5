"""Any bytes as NCCL's topology file."""

from collections.abc import Iterable

from fuzz.target import Target
from guest.nccl.reader import RefusedError, read

from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.lint.complaint import Severity
from pcietune.guest.nccl.lint.lint import lint

_FILE = """\
<!-- of a VM -->
<system version="1">
  <cpu numaid="0" affinity="0000ffff">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:23:00.0" class="0x030200"><gpu><nvlink target="0000:24:00.0"/></gpu></pci>
      <pci busid='0000:25:00.0' class='0x020700'><nic><net name="mlx5_0"/></nic></pci>
    </pci>
  </cpu>
</system>
"""


def look(data: bytes) -> None:
    """Check a file: each complaint has its place, and what NCCL refuses is never clean."""
    text = data.decode(errors="replace").replace("\0", "")
    complaints = lint(text, Library.NCCL)
    for each in complaints:
        assert 1 <= each.line <= text.count("\n") + text.count("\r") + 1
        assert 1 <= each.column <= len(text) + 1
    if text.isascii() and not any(each.severity is Severity.ERROR for each in complaints):
        try:
            read(text)
        except RefusedError as error:
            raise AssertionError(f"{error}, and no error was found") from error


def seeds() -> Iterable[bytes]:
    """Yield a file, and the same with what XML has and NCCL has not."""
    yield _FILE.encode()
    yield f"<?xml version='1.0'?>\n{_FILE.replace('  ', chr(9)).replace('/>', ' />')}".encode()


TARGET = Target(look, seeds, longest=2048)
