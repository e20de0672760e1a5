"""What lspci printed is read as it was printed, and refused where it is damaged."""

import gzip
from pathlib import Path

import pytest
from host.dumped import opened, refused

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError

ENDPOINT = "0000:24:00.0 Infiniband controller: a NIC"
# Type 0 header: 15b3:101b, Status without a capability list, class 020700, subsystem 15b3:0007.
HEADER = """\
00: b3 15 1b 10 06 00 00 00 00 00 07 02 00 00 00 00
10: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
20: 00 00 00 00 00 00 00 00 00 00 00 00 b3 15 07 00
30: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
"""
DUMP = f"{ENDPOINT}\n{HEADER}\n"
# As above, with a capability list (Status bit 4) that begins at 40h with PCI Express.
EXPRESS_HEADER = HEADER.replace("06 00 00 00 00", "06 00 10 00 00", 1).replace(
    "30: 00 00 00 00 00", "30: 00 00 00 00 40"
)


def _rows(first: int, end: int) -> str:
    return "".join(f"{at:02x}:{' 00' * 16}\n" for at in range(first, end, 16))


EXPRESS = "40: 10 00 02 00" + " 00" * 12 + "\n"


def test_ids_class_and_subsystem_are_those_of_the_header(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as host:
        (function,) = host.functions()

    assert function.address == PciAddress(0, 0x24, 0, 0)
    assert (function.id, function.class_code) == ("15b3:101b", 0x020700)
    assert (function.subsystem_vendor, function.subsystem_device) == (0x15B3, 0x0007)


def _crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    "captured",
    [
        pytest.param(_crlf(DUMP), id="carriage returns"),
        pytest.param(DUMP.replace(": ", ":\t").replace(" 00", "\t00"), id="tabs"),
        pytest.param("\ufeff" + DUMP, id="a byte order mark"),
        pytest.param("".join(f"> {line}\n" for line in DUMP.splitlines()), id="quoted mail"),
        pytest.param("".join(f">> {line}\n" for line in DUMP.splitlines()), id="quoted twice"),
        pytest.param(f"\x1b[1m{ENDPOINT}\x1b[0m\n{HEADER}", id="colours"),
        pytest.param(DUMP.upper().replace(ENDPOINT.upper(), ENDPOINT), id="upper case"),
        pytest.param(f"# lspci -D -x\n{DUMP}#\n", id="a shell around it"),
        pytest.param(f"pcilib: sysfs_read_vpd: read failed\n{DUMP}", id="stderr before it"),
        pytest.param(f"{ENDPOINT}\npcilib: read failed\n{HEADER}", id="stderr in between"),
        pytest.param(DUMP.rstrip("\n"), id="no newline at the end"),
        pytest.param(gzip.compress(DUMP.encode()), id="compressed"),
        pytest.param(f"{ENDPOINT}\n\tLatency: 0\n\tNUMA node: 1\n{HEADER}", id="text of -v"),
    ],
)
def test_a_dump_is_read_however_it_was_captured(tmp_path: Path, captured: str | bytes) -> None:
    with opened(tmp_path, captured) as host:
        (function,) = host.functions()
        config = host.config(function)

        assert (function.id, function.class_code) == ("15b3:101b", 0x020700)
        assert config.read(0x2C, 4) == 0x0007_15B3


def test_what_v_tells_is_known(tmp_path: Path) -> None:
    told = "\tNUMA node: 1\n\tIOMMU group: 38\n\tKernel driver in use: mlx5_core\n"

    with opened(tmp_path, f"{ENDPOINT}\n{told}{HEADER}") as host:
        (function,) = host.functions()
        state = host.state(function)

    assert (function.driver, state.group, state.numa_node) == ("mlx5_core", 38, 1)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("0207: 15b3:101b (rev ff)", ("15b3:101b", 0x0207), id="of -n"),
        pytest.param(
            "Infiniband controller [0207]: Mellanox [ConnectX-6] [15b3:101b] (rev ff)",
            ("15b3:101b", 0x0207),
            id="of -nn",
        ),
        pytest.param("Infiniband controller: NIC (rev ff)", ("????:????", 0xFFFF), id="of neither"),
    ],
)
def test_the_ids_of_what_does_not_answer_are_those_that_lspci_printed(
    tmp_path: Path, header: str, expected: tuple[str, int]
) -> None:
    silent = "".join(f"{at:02x}:{' ff' * 16}\n" for at in range(0, 64, 16))

    with opened(tmp_path, f"0000:24:00.0 {header}\n{silent}") as host:
        (function,) = host.functions()

    assert (function.id, function.device_class) == expected


def test_without_a_domain_it_is_0(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP.removeprefix("0000:")) as host:
        (function,) = host.functions()

    assert str(function.address) == "0000:24:00.0"


@pytest.mark.parametrize(
    ("printed", "address"),
    [
        ("00:1c.3/08:00.0/09:01.0", "0000:09:01.0"),
        ("0001:00:1c.3/08:00.0/09:01.0", "0001:09:01.0"),
        ("10000:00:1c.3/10000:09:01.0", "10000:09:01.0"),
    ],
)
def test_of_a_path_the_last_address_counts(tmp_path: Path, printed: str, address: str) -> None:
    with opened(tmp_path, DUMP.replace("0000:24:00.0", printed)) as host:
        (function,) = host.functions()

    assert str(function.address) == address


@pytest.mark.parametrize("domain", ["10000", "1f392", "deadbeef"])
def test_a_domain_may_be_wider_than_four_digits(tmp_path: Path, domain: str) -> None:
    with opened(tmp_path, DUMP.replace("0000:24", f"{domain}:24")) as host:
        (function,) = host.functions()

    assert str(function.address) == f"{domain}:24:00.0"


def test_64_bytes_are_what_others_than_root_see(tmp_path: Path) -> None:
    with opened(tmp_path, f"{ENDPOINT}\n{EXPRESS_HEADER}") as host:
        config = host.config(host.functions()[0])

        with pytest.raises(NotPermittedError, match="only the first 64 bytes were recorded"):
            config.read(0x40, 2)


def test_256_bytes_of_an_express_function_are_not_all(tmp_path: Path) -> None:
    with opened(tmp_path, f"{ENDPOINT}\n{EXPRESS_HEADER}{EXPRESS}{_rows(0x50, 0x100)}") as host:
        config = host.config(host.functions()[0])

        assert config.read(0x40, 1) == 0x10
        with pytest.raises(ConfigSpaceError, match="0x100 was not recorded: the dump ends at 0x1"):
            config.read(0x100, 4)


def test_256_bytes_of_a_conventional_function_are_all(tmp_path: Path) -> None:
    with opened(tmp_path, f"{ENDPOINT}\n{HEADER}{_rows(0x40, 0x100)}") as host:
        assert host.config(host.functions()[0]).size == 256


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "1.txt is empty", id="empty"),
        pytest.param("\n\n", "1.txt is empty", id="nothing but empty lines"),
        pytest.param(
            "total 8\n",
            "1.txt:1: this is neither an archive nor a text that tells of a host",
            id="something else",
        ),
        pytest.param(
            b"\x7fELF\x02\x01\x01\0",
            "1.txt:1: neither a host archive nor text in UTF-8: it has zero bytes",
            id="binary",
        ),
        pytest.param(
            DUMP.encode("utf-16"),
            "1.txt:1: neither a host archive nor text in UTF-8: it has zero bytes",
            id="UTF-16",
        ),
        pytest.param("x" * 20000, "1.txt:1: a line longer than 16384 bytes", id="a long line"),
        pytest.param(
            gzip.compress(DUMP.encode())[:-8],
            "1.txt:7: what follows cannot be read: Compressed file ended before the "
            "end-of-stream marker was reached",
            id="compressed and cut off",
        ),
        pytest.param(
            DUMP.replace("20: 00", "20: 0g"),
            "1.txt:4: '20: 0g 00 00 00 00 00 00 00 00 00 00 00 b3 15 07 00' is no line of "
            "lspci's: a row has an offset and 16 bytes in hex",
            id="a byte that is none",
        ),
        pytest.param(
            DUMP.replace(" b3 15 07 00", " b3 15 07"),
            "1.txt:4: '20: 00 00 00 00 00 00 00 00 00 00 00 00 b3 15 07' is no line of "
            "lspci's: a row has an offset and 16 bytes in hex",
            id="a row of 15 bytes",
        ),
        pytest.param(
            DUMP.replace(_rows(0x10, 0x20), ""),
            "1.txt:3: 0000:24:00.0: the row at 0x20 comes behind the row at 0x00",
            id="a row is missing",
        ),
        pytest.param(
            DUMP.replace(_rows(0x10, 0x20), _rows(0x10, 0x20) * 2),
            "1.txt:4: 0000:24:00.0: the row at 0x10 comes behind the row at 0x10",
            id="a row is doubled",
        ),
        pytest.param(
            DUMP.replace("00: b3", "10: b3"),
            "1.txt:2: 0000:24:00.0: the row at 0x10 comes as the first row",
            id="it begins in the middle",
        ),
        pytest.param(HEADER, "1.txt:1: bytes of no function", id="no function before the bytes"),
        pytest.param(
            f"{ENDPOINT}\n\n{HEADER}", "1.txt:3: bytes of no function", id="apart from their bytes"
        ),
        pytest.param(
            DUMP + DUMP.replace("0000:24", "0000:g4"),
            "1.txt:8: 0000:24:00.0: the row at 0x00 comes behind the row at 0x30",
            id="an address that is none",
        ),
        pytest.param(
            f"{ENDPOINT}\n{HEADER}{_rows(0x40, 0xC0)}",
            "1.txt:1: 0000:24:00.0 ends at 0x0c0: lspci prints 64, 256 or 4096 bytes, so the "
            "rest was cut off",
            id="cut off",
        ),
        pytest.param(
            f"{DUMP}{DUMP}",
            "1.txt:7: 0000:24:00.0 is here for the second time, first in line 1: these are "
            "two dumps",
            id="two dumps in one file",
        ),
        pytest.param(
            f"{DUMP}{DUMP.removeprefix('0000:').replace('24:', '25:')}",
            "1.txt:7: 25:00.0 is printed without its domain, those above with: these are "
            "parts of two dumps",
            id="with and without domain",
        ),
        pytest.param(
            f"{ENDPOINT}\nCapabilities: none\n{HEADER}",
            "1.txt:2: 'Capabilities: none' is no line of lspci's: a row has an offset and "
            "16 bytes in hex",
            id="something in between",
        ),
        pytest.param(
            f"{ENDPOINT}\n\tCapabilities: <access denied>\n",
            "1.txt:1: 0000:24:00.0 has no bytes here, nor bus numbers and kinds of "
            "port, as -vvv prints them: where it stands is not told",
            id="no bytes at all",
        ),
    ],
)
def test_a_dump_that_is_damaged_is_refused_with_the_place(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    assert refused(tmp_path, text) == said
