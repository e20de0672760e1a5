from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import downstream_port
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, ROOT_PORT, finding, judged
from tune.profiles import with_mode

from pcietune.model.finding import Finding, State
from pcietune.model.profile import Mode
from pcietune.model.severity import Severity

ID = "port.acs-violations"
ADVANCED_ERROR_REPORTING = 0x0001  # PCI_EXT_CAP_ID_ERR


def counters(*, violations: int | None, total: str) -> str:
    """Return what Linux prints (drivers/pci/pcie/aer.c, aer_uncorrectable_error_string)."""
    acs = [] if violations is None else [f"ACSViol {violations}"]
    return "\n".join(["Undefined 0", "DLP 7", "UnsupReq 3", *acs, "UncorrIntErr 0", total])


def fatal(violations: int | None) -> str:
    return counters(violations=violations, total="TOTAL_ERR_FATAL 10")


def nonfatal(violations: int | None) -> str:
    return counters(violations=violations, total="TOTAL_ERR_NONFATAL 10")


def found(root: Path, **attributes: str) -> Finding:
    port = replace(downstream_port(NIC_PORT, below="0000:21:00.0"), attributes=attributes)
    return finding(judged(one_switch(root, instead=[port]), with_mode(Mode({}))), ID, NIC_PORT)


def test_no_violation_is_as_wanted(tmp_path: Path) -> None:
    aer = found(tmp_path, aer_dev_fatal=fatal(0), aer_dev_nonfatal=nonfatal(0))

    assert (aer.state, aer.found.text) == (State.PASS, "0 ACS violations")


@pytest.mark.parametrize(
    ("as_fatal", "as_nonfatal", "text"),
    [(0, 1, "1 ACS violation"), (2, 0, "2 ACS violations"), (12, 30, "42 ACS violations")],
)
def test_violations_are_told_whatever_their_severity(
    tmp_path: Path, as_fatal: int, as_nonfatal: int, text: str
) -> None:
    aer = found(tmp_path, aer_dev_fatal=fatal(as_fatal), aer_dev_nonfatal=nonfatal(as_nonfatal))

    assert (aer.state, aer.severity, aer.found.text) == (State.FAIL, Severity.INFO, text)
    assert "bus 00 right after a hot-plug" in aer.reason


def test_a_port_without_statistics_has_nothing_to_judge(tmp_path: Path) -> None:
    aer = found(tmp_path)

    assert (aer.state, aer.found.text) == (State.NOT_APPLICABLE, "not counted")


def test_a_port_with_aer_whose_statistics_are_not_told_is_not_known(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0")
    port.config.extended(ADVANCED_ERROR_REPORTING, bytes(0x28))

    aer = finding(judged(one_switch(tmp_path, instead=[port]), with_mode(Mode({}))), ID, NIC_PORT)

    assert (aer.state, aer.severity) == (State.ERROR, Severity.INFO)
    assert aer.reason == f"{NIC_PORT}: its AER statistics are not known"


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"aer_dev_fatal": fatal(0)}, id="half of them"),
        pytest.param(
            {"aer_dev_fatal": fatal(None), "aer_dev_nonfatal": nonfatal(None)}, id="no such line"
        ),
    ],
)
def test_statistics_without_the_count_are_no_pass(
    tmp_path: Path, attributes: dict[str, str]
) -> None:
    aer = found(tmp_path, **attributes)

    assert (aer.state, aer.severity) == (State.ERROR, Severity.INFO)


def test_root_and_downstream_ports_are_judged(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), with_mode(Mode({})))

    ports = [str(f.subject.address) for f in audited.findings if f.id == ID]
    assert ports == [ROOT_PORT, GPU_PORT, NIC_PORT]
