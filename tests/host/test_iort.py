"""The ACPI table IORT, from bytes laid out after ARM DEN 0049."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.acpi import iort, its_group, put_table, root_complex, table
from trees.host import TreeHost

from pcietune.host.firmware.iort import parse_iort, read_iort
from pcietune.host.host_files import HostFiles


@pytest.mark.parametrize(
    ("attribute", "supported"),
    [
        pytest.param(0b001, True, id="ATS"),
        pytest.param(0b000, False, id="nothing"),
        pytest.param(0b110, False, id="PRI and PASID forwarding alone"),
        pytest.param(0b111, True, id="all"),
    ],
)
def test_a_root_complex_has_ats_by_bit_0_of_its_attribute(
    attribute: int, *, supported: bool
) -> None:
    assert parse_iort(iort([its_group(), root_complex(4, attribute)])) == {4: supported}


def test_each_segment_is_told_apart_and_the_first_node_of_one_counts() -> None:
    nodes = [root_complex(0, 1), root_complex(1, 0), its_group(), root_complex(0, 0)]

    assert parse_iort(iort(nodes)) == {0: True, 1: False}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(struct.pack("<III", 1, 48, 0), id="no node where one is announced"),
        pytest.param(struct.pack("<III", 1, 4096, 0), id="nodes behind the end"),
        pytest.param(struct.pack("<II", 0, 48), id="no room for its fields but two"),
        pytest.param(b"", id="nothing"),
        pytest.param(struct.pack("<III", 1, 48, 0) + bytes(24), id="a length of zero"),
        pytest.param(struct.pack("<III", 1, 48, 0) + b"\x02\x40\x00" + bytes(33), id="too long"),
        pytest.param(
            struct.pack("<III", 1, 48, 0) + b"\x02\x18\x00" + bytes(21),
            id="a root complex without a segment",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\d bytes"):
        parse_iort(table("IORT", body))


def test_a_host_without_the_table_is_not_known(tmp_path: Path) -> None:
    assert read_iort(HostFiles(tmp_path, recorded=False)) is None


def test_a_table_longer_than_it_says_is_refused(tmp_path: Path) -> None:
    put_table(TreeHost(tmp_path), iort([root_complex(0, 1)]) + b"\0")

    with pytest.raises(ValueError, match=r"^it has 85 bytes where it says 84$"):
        read_iort(HostFiles(tmp_path, recorded=False))


def test_a_whole_table_is_read(tmp_path: Path) -> None:
    put_table(TreeHost(tmp_path), iort([root_complex(0, 1)]))

    assert read_iort(HostFiles(tmp_path, recorded=False)) == {0: True}


@given(body=st.binary(max_size=200))
def test_no_bytes_crash_or_hang_the_parser(body: bytes) -> None:
    try:
        parse_iort(table("IORT", body))
    except ValueError:
        return


@given(count=st.integers(0, 0xFFFF_FFFF), offset=st.integers(0, 100), nodes=st.binary(max_size=99))
def test_no_count_of_nodes_crashes_or_hangs_the_parser(
    count: int, offset: int, nodes: bytes
) -> None:
    try:
        parse_iort(table("IORT", struct.pack("<III", count, offset, 0) + nodes))
    except ValueError:
        return
