"""The ACPI table DMAR, from bytes laid out after the VT-d specification."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.acpi import (
    ATSR,
    ENDPOINT,
    IOAPIC,
    SATC,
    dmar,
    hardware_unit,
    put_table,
    scope,
    structure,
    table,
)
from trees.host import TreeHost

from pcietune.host.firmware.dmar import parse_dmar, read_dmar
from pcietune.host.host_files import HostFiles
from pcietune.model.dmar import DeviceScope, Dmar

ALL_PORTS = ATC_REQUIRED = 1


def test_an_atsr_for_all_ports_covers_its_segment() -> None:
    found = parse_dmar(dmar(structure(ATSR, flags=ALL_PORTS, segment=2)))

    assert found == Dmar(all_ports=frozenset({2}), root_ports=())


def test_an_atsr_names_root_ports_one_by_one() -> None:
    ports = (scope(0x20, ((1, 0),)), scope(0x40, ((3, 2),)))

    found = parse_dmar(dmar(hardware_unit(scope(0, ((0x1F, 0),))), structure(ATSR, *ports)))

    assert found.all_ports == frozenset()
    assert found.root_ports == (
        DeviceScope(0, 0x20, ((1, 0),)),
        DeviceScope(0, 0x40, ((3, 2),)),
    )


def test_several_structures_add_up() -> None:
    found = parse_dmar(
        dmar(
            structure(ATSR, scope(0x20, ((1, 0),))),
            structure(ATSR, scope(0x40, ((1, 0),)), segment=1),
            structure(ATSR, flags=ALL_PORTS, segment=3),
        )
    )

    assert [(port.segment, port.bus) for port in found.root_ports] == [(0, 0x20), (1, 0x40)]
    assert found.all_ports == frozenset({3})


def test_an_satc_names_integrated_functions_and_whether_they_need_ats() -> None:
    optional = structure(SATC, scope(0x6A, ((1, 0),), ENDPOINT))
    needed = structure(SATC, scope(0, ((2, 0),), ENDPOINT), flags=ATC_REQUIRED)

    found = parse_dmar(dmar(optional, needed))

    assert found.integrated == (DeviceScope(0, 0x6A, ((1, 0),)),)
    assert found.integrated_required == (DeviceScope(0, 0, ((2, 0),)),)


def test_a_scope_may_take_several_hops_and_one_that_is_no_pci_function_is_passed_over() -> None:
    found = parse_dmar(
        dmar(structure(ATSR, scope(0xF0, ((0x1E, 7),), IOAPIC), scope(0, ((1, 0), (4, 2)))))
    )

    assert found.root_ports == (DeviceScope(0, 0, ((1, 0), (4, 2))),)


@pytest.mark.parametrize(
    "structures",
    [
        pytest.param(b"\x02\x00\x00\x00", id="a length of zero"),
        pytest.param(b"\x02\x00\x40\x00", id="longer than the table"),
        pytest.param(b"\x02\x00\x06\x00\x00\x00", id="an ATSR without a segment"),
        pytest.param(structure(ATSR, b"\x02\x00\x00\x00\x00\x20"), id="a scope of no length"),
        pytest.param(structure(ATSR, b"\x02\x07\x00\x00\x00\x20\x01"), id="half a hop"),
        pytest.param(structure(ATSR, b"\x02"), id="the first byte of a scope"),
        pytest.param(b"\x02", id="the first byte of a structure"),
    ],
)
def test_what_makes_no_sense_is_refused(structures: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes|left over|shorter"):
        parse_dmar(dmar(structure(ATSR, flags=ALL_PORTS), structures))


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        pytest.param(dmar()[:-1], "it has 47 bytes where it says 48", id="cut off"),
        pytest.param(dmar() + b"\0", "it has 49 bytes where it says 48", id="too long"),
        pytest.param(dmar()[:30], "it has 30 bytes", id="half a header"),
        pytest.param(b"", "it has 0 bytes", id="empty"),
        pytest.param(table("APIC", bytes(12)), "its signature is b'APIC'", id="another table"),
        pytest.param(dmar()[:-1] + b"\x01", "its checksum is wrong", id="a wrong checksum"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, damaged: bytes, why: str) -> None:
    host = TreeHost(tmp_path)
    put_table(host, dmar())
    (tmp_path / "sys/firmware/acpi/tables/DMAR").write_bytes(damaged)

    with pytest.raises(ValueError, match=f"^{why}$"):
        read_dmar(HostFiles(tmp_path, recorded=False))


def test_a_table_that_is_absent_or_not_readable_is_not_known(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=False)
    absent = read_dmar(files)
    (tmp_path / "sys/firmware/acpi/tables/DMAR").mkdir(parents=True)

    assert (absent, read_dmar(files)) == (None, None)


def test_a_whole_table_is_read(tmp_path: Path) -> None:
    put_table(TreeHost(tmp_path), dmar(structure(ATSR, flags=ALL_PORTS)))

    assert read_dmar(HostFiles(tmp_path, recorded=False)) == Dmar(frozenset({0}), ())


@given(structures=st.binary(max_size=200))
def test_no_bytes_crash_or_hang_the_parser(structures: bytes) -> None:
    try:
        parse_dmar(dmar(structures))
    except ValueError:
        return


scopes = st.builds(
    scope,
    st.integers(0, 0xFF),
    st.lists(st.tuples(st.integers(0, 31), st.integers(0, 7)), min_size=1, max_size=4).map(tuple),
)


@given(named=st.lists(scopes, max_size=5), segment=st.integers(0, 0xFFFF))
def test_as_many_root_ports_are_found_as_an_atsr_names(named: list[bytes], segment: int) -> None:
    found = parse_dmar(dmar(structure(ATSR, *named, segment=segment)))

    assert len(found.root_ports) == len(named)
    assert {port.segment for port in found.root_ports} <= {segment}
