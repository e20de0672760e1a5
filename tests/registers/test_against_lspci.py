"""lspci decodes the same bytes. Of the ACS registers it knows bits 6:0 and no others."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from registers.decoded import decode
from registers.hex_dump import read_hex_dump, write_hex_dump
from registers.layout import PCI_EXPRESS, SERIAL_NUMBER, VENDOR_SPECIFIC, Layout
from registers.lspci_text import Described, read_lspci

import pcietune
from pcietune.address import PciAddress
from pcietune.host.recordings.archive import unpack

OWN = sorted((Path(__file__).parent / "dumps").glob("*.hex"))
# Dumps of real machines are not ours to hand on: more cases where they are at hand.
REAL = sorted((Path(__file__).parents[3] / "shared" / "dumps").glob("*.lspci*"))
RECORDED = Path(pcietune.__file__).parent / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"

CAPABILITIES = [0x40, 0x44, 0x50, 0x80, 0xF8]
EXTENDED_CAPABILITIES = [0x104, 0x148, 0x600, 0xFB4, 0xFF0]


@pytest.mark.parametrize("dump", [pytest.param(path, id=path.stem) for path in OWN + REAL])
def test_every_register_reads_as_lspci_reads_it(dump: Path, tmp_path: Path) -> None:
    functions = read_hex_dump(dump.read_text())

    ours = {address: decode(address, data) for address, data in functions.items()}

    assert ours == ask_lspci(functions, tmp_path / "dump")


@pytest.mark.parametrize(
    ("dumps", "with_acs", "with_ats"),
    [
        pytest.param(OWN, 9, 10, id="laid out by hand"),
        *([pytest.param(REAL, 18, 3, id="of real machines")] if REAL else []),
    ],
)
def test_the_dumps_have_functions_with_acs_and_with_ats(
    dumps: list[Path], with_acs: int, with_ats: int
) -> None:
    decoded = [
        decode(address, data)
        for dump in dumps
        for address, data in read_hex_dump(dump.read_text()).items()
    ]

    assert sum(function is not None and function.acs is not None for function in decoded) == (
        with_acs
    )
    assert sum(function is not None and function.ats is not None for function in decoded) == (
        with_ats
    )


def test_the_bench_recording_reads_as_lspci_reads_it(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    unpack(RECORDED, tmp_path / "host")
    functions = {
        PciAddress.parse(config.parent.name): config.read_bytes()
        for config in (tmp_path / "host").rglob("config")
    }

    ours = {address: decode(address, data) for address, data in functions.items()}

    assert ours == ask_lspci(functions, tmp_path / "dump")
    # The machine has 10 root ports, 16 downstream ports, and 8 NICs.
    assert sum(f is not None and f.acs is not None for f in ours.values()) == 10 + 16
    assert sum(f is not None and f.ats is not None for f in ours.values()) == 8


@st.composite
def linked(draw: st.DrawFn) -> bytes:
    """Give a function whose lists go forwards, backwards and round in circles."""
    layout = Layout().capabilities((0x60, PCI_EXPRESS))
    for offset in CAPABILITIES:
        layout.put(offset, 2, draw(st.sampled_from([0, *CAPABILITIES])) << 8 | VENDOR_SPECIFIC)
    layout.put(0x60, 2, draw(st.sampled_from(CAPABILITIES)) << 8 | PCI_EXPRESS)
    for offset in [0x100, *EXTENDED_CAPABILITIES]:
        following = draw(st.sampled_from([0, *EXTENDED_CAPABILITIES]))
        layout.put(offset, 4, following << 20 | 1 << 16 | SERIAL_NUMBER)
    return layout.data()


@given(functions=st.lists(linked(), min_size=32, max_size=32))
@settings(max_examples=10)
def test_lists_in_any_order_are_walked_as_lspci_walks_them(
    functions: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    dump = {PciAddress(0, 1, device, 0): data for device, data in enumerate(functions)}

    ours = {address: decode(address, data) for address, data in dump.items()}

    assert ours == ask_lspci(dump, tmp_path_factory.mktemp("lspci") / "dump")


def ask_lspci(functions: dict[PciAddress, bytes], path: Path) -> dict[PciAddress, Described | None]:
    """Let lspci decode ``functions`` from a new file at ``path``."""
    path.write_text(write_hex_dump(functions))
    lspci = ["lspci", "-D", "-vvv", "-F", str(path)]
    return read_lspci(subprocess.run(lspci, check=True, capture_output=True, text=True).stdout)
