"""What ``guest nccl --check`` says of files of the shape that clouds ship for their VMs."""

import pytest
from guest.nccl.reader import read

from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.lint.complaint import Complaint
from pcietune.guest.nccl.lint.lint import lint

MASKS = ("00000000,00ffffff", "0000ffff,ff000000", "ffff0000,00000000")


def _of_a_cloud(cpu: str, switch: str, speed: str) -> str:
    """Return a file of the shape that clouds ship: two GPUs and two NICs to each invented switch.

    Each function has a domain of its own, as Hyper-V gives it.
    """
    lines = ['<system version="1">']
    for node, mask in enumerate(MASKS):
        link = f'link_speed="{speed}" link_width="16"'
        lines += [
            f'  <cpu numaid="{node}" affinity="{mask}" {cpu}>',
            f'    <pci busid="ffff:ff:{node + 1:02x}.0" class="0x060400" {link}{switch}>',
        ]
        for each in (2 * node + 10, 2 * node + 11):
            lines += [
                f'      <pci busid="{each:04x}:00:00.0" class="0x030200" {link}/>',
                f'      <pci busid="{0x100 + each:04x}:00:00.0" class="0x020700" {link}/>',
            ]
        lines += ["    </pci>", "  </cpu>"]
    return "\n".join([*lines, "</system>", ""])


def _only(text: str) -> Complaint:
    (complaint,) = lint(text, Library.NCCL)
    return complaint


@pytest.mark.parametrize(
    ("cpu", "switch", "speed"),
    [
        ('arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49"', "", "16 GT/s"),
        (
            'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"',
            ' vendor="0x0000" device="0x0000" subsystem_vendor="0x0000" subsystem_device="0x0000"',
            "32.0 GT/s PCIe",
        ),
    ],
)
def test_files_of_the_shape_that_clouds_ship_are_not_complained_of(
    cpu: str, switch: str, speed: str
) -> None:
    text = _of_a_cloud(cpu, switch, speed)

    assert lint(text, Library.NCCL) == []
    assert read(text).name == "system"


def test_a_file_of_the_shape_that_clouds_ship_with_one_mask_twice_is_told_where() -> None:
    text = _of_a_cloud('arch="x86_64"', "", "16 GT/s").replace(MASKS[1], MASKS[0])

    complaint = _only(text)
    assert (complaint.rule, complaint.line, complaint.column) == ("affinity-shared", 10, 19)


def test_a_file_of_the_shape_that_clouds_ship_has_no_function_twice() -> None:
    text = _of_a_cloud('arch="x86_64"', "", "16 GT/s").replace("010c:", "010b:")

    complaint = _only(text)
    assert (complaint.rule, complaint.line) == ("busid-twice", 13)
