"""Tables of the firmware that nobody can make sense of are told, and taken for not known."""

from pathlib import Path

import pytest
from trees.acpi import dmar, iort, put_table, structure
from trees.host import TreeHost
from tune.ats_hosts import OFF, host
from tune.judged import NIC, finding, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import AtsPolicy, IommuPolicy, Mode
from pcietune.model.severity import Severity

PROFILE = with_mode(Mode({}, AtsPolicy.JUDGE, iommu=IommuPolicy.DEVICE_TLB))
CUT_OFF = dmar()[:-1]  # of 36 + 12 bytes


def told(tree: TreeHost) -> list[Finding]:
    return [f for f in judged(tree, PROFILE).findings if f.id == "iommu.firmware-table"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(CUT_OFF, "it has 47 bytes where it says 48", id="cut off"),
        pytest.param(dmar()[:-1] + b"\x01", "its checksum is wrong", id="a wrong checksum"),
        pytest.param(dmar(b"\x02\x00\x40\x00"), "a length of 64 among 4 bytes", id="inside"),
    ],
)
def test_a_damaged_table_is_named_and_turns_no_exit_code(
    tmp_path: Path, data: bytes, why: str
) -> None:
    tree = host(tmp_path, OFF)
    put_table(tree, data)

    (found,) = told(tree)

    assert (found.state, found.severity) == (State.ERROR, Severity.INFO)
    assert found.found.text == f"DMAR: {why}"
    assert found.reason == (
        f"the firmware's table DMAR is damaged ({why}), so it is not known which root ports may "
        "have ATS"
    )
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS
    assert found.exit_code(strict=True) is ExitCode.OK


def test_each_damaged_table_is_named(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    put_table(tree, CUT_OFF)
    put_table(tree, iort([]) + b"\0")

    assert [found.found.text.split(":")[0] for found in told(tree)] == ["DMAR", "IORT"]


def test_where_ats_is_off_a_damaged_table_is_said_to_be_damaged(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    put_table(tree, CUT_OFF)

    reason = finding(judged(tree, PROFILE), "nic.ats", NIC).reason

    assert "is missing in the firmware's ATS table (DMAR ATSR), which is damaged, or" in reason


def test_of_whole_tables_and_absent_ones_nothing_is_told(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    absent = told(tree)
    put_table(tree, dmar(structure(2, flags=1)))

    assert (absent, told(tree)) == ([], [])
