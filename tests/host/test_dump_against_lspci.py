"""lspci reads the same dumps: bytes, registers and paths agree, and so they do on the way back."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from host.dumped import opened
from registers.decoded import decode
from registers.lspci_text import read_lspci
from trees.dump import dump, numbered, one_switch_functions
from trees.fabrics import cascade_functions
from trees.function import Function
from trees.host import TreeHost

from pcietune.address import PciAddress
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction

# Dumps of real machines are not ours to hand on: more cases where they are at hand.
REAL = sorted((Path(__file__).parents[3] / "shared" / "dumps").glob("*.lspci*"))
_ROW = re.compile(r"^[0-9a-f]{2,3}: (.*)$", re.MULTILINE)
_PATH = re.compile(r"^(\S*:\S+\.[0-7]) ", re.MULTILINE)


def _lspci(*arguments: str | Path) -> str:
    command = ["lspci", "-D", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "real", [None, *REAL], ids=lambda path: "made by hand" if path is None else path.stem
)
def test_a_dump_reads_as_lspci_reads_it(tmp_path: Path, real: Path | None) -> None:
    made = tmp_path / "made.txt"
    made.write_text(dump(one_switch_functions()))
    file = made if real is None else real

    with open_host([file]) as host:
        _check_as_lspci(host, file)


@pytest.mark.parametrize("make", [one_switch_functions, cascade_functions])
def test_what_lspci_prints_of_a_host_gives_the_same_bytes_again(
    tmp_path: Path, make: Callable[[], list[Function]]
) -> None:
    tree = TreeHost(tmp_path / "host")
    tree.add(*numbered(make()))
    text = _lspci("-vvv", "-xxxx", "-O", f"sysfs.path={tree.root}/sys/bus/pci")

    with opened(tmp_path, text) as host:
        data = _config(host)

    assert data == {address: tree.config(str(address)).read_bytes() for address in sorted(data)}
    assert len(data) == len(list(tree.root.rglob("config")))


def _check_as_lspci(host: SysfsHost, file: Path) -> None:
    """Compare what is told of each function: its registers, its bytes, and the ports above it."""
    data = _config(host)
    decoded = {address: decode(address, config) for address, config in data.items()}
    assert decoded == read_lspci(_lspci("-vvv", "-F", file))

    assert _PATH.findall(_lspci("-PP", "-F", file)) == [_path(f) for f in host.functions()]

    rows = _ROW.findall(_lspci("-xxxx", "-F", file))
    assert bytes.fromhex("".join(rows)) == b"".join(data.values())


def _config(host: SysfsHost) -> dict[PciAddress, bytes]:
    return {
        function.address: (host.root / host.directory(function) / "config").read_bytes()
        for function in host.functions()
    }


def _path(function: PciFunction) -> str:
    """Return the path as lspci -D -PP prints it: the domain once."""
    first, *others = map(str, (*function.ports, function.address))
    return "/".join([first, *(other.split(":", 1)[1] for other in others)])
