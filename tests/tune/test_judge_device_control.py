from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ROOT_PORT as ROOT_PORT_TYPE
from trees.config import ConfigBuilder
from trees.express import Express
from trees.function import Function, gpu, nic, root_port
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, finding, judged
from tune.profiles import PROFILE

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity

ID = "device.relaxed-ordering"
STRICT = Express(relaxed_ordering=False)


def found(root: Path, *instead: Function, at: str = NIC) -> Finding:
    return finding(judged(one_switch(root, instead=instead)), ID, at)


def below(device_id: str) -> Function:
    """Return a root port of this Vendor and Device ID."""
    config = ConfigBuilder(device_id, 0x060400).power_management().express(ROOT_PORT_TYPE)
    return replace(root_port(ROOT_PORT), config=config)


@pytest.mark.parametrize("address", [GPU, NIC])
def test_a_function_that_may_set_relaxed_ordering_is_as_wanted(
    tmp_path: Path, address: str
) -> None:
    ordering = found(tmp_path, at=address)

    assert (ordering.state, ordering.reason) == (State.PASS, "")
    assert (ordering.found.text, ordering.found.value, ordering.found.bits) == (
        "RlxdOrd+ in DevCtl 0x2030",
        "0x2030",
        ("RlxdOrd+",),
    )


@pytest.mark.parametrize(
    ("strict", "address"),
    [
        pytest.param(gpu(GPU, below=GPU_PORT, express=STRICT), GPU, id="GPU"),
        pytest.param(nic(NIC, below=NIC_PORT, express=STRICT), NIC, id="NIC"),
    ],
)
def test_one_that_may_not_takes_the_detour_of_its_completions(
    tmp_path: Path, strict: Function, address: str
) -> None:
    ordering = found(tmp_path, strict, at=address)

    assert (ordering.state, ordering.severity) == (State.FAIL, Severity.INFO)
    assert ordering.found.bits == ("RlxdOrd-",)
    assert "CmpltRedir" in ordering.reason
    assert ordering.remedy
    assert ordering.remedy.kind is RemedyKind.SOFTWARE
    assert ordering.remedy.command.startswith(f"setpci -s {address} CAP_EXP+8.w=10:10 ")


@pytest.mark.parametrize("device_id", ["8086:6f02", "8086:2f02", "1022:1a02"])
@pytest.mark.parametrize("express", [STRICT, Express()])
def test_below_a_root_port_that_takes_it_badly_it_is_not_judged(
    tmp_path: Path, device_id: str, express: Express
) -> None:
    ordering = found(tmp_path, below(device_id), nic(NIC, below=NIC_PORT, express=express))

    assert (ordering.state, ordering.remedy) == (State.NOT_APPLICABLE, None)
    assert ROOT_PORT in ordering.reason


def test_a_root_port_with_another_quirk_does_not_matter(tmp_path: Path) -> None:
    assert found(tmp_path, below("8086:a110")).state is State.PASS


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), PROFILE, ModeName.BAREMETAL)

    assert ID not in {f.id for f in audited.findings}


def test_a_profile_may_take_it_more_seriously(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, express=STRICT)])
    profile = replace(PROFILE, severities={ID: Severity.ERROR})

    ordering = finding(judged(tree, profile), ID, NIC)

    assert ordering.exit_code(strict=False) is ExitCode.DIFFERS


def test_what_does_not_answer_is_no_pass(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, GPU)

    ordering = finding(judged(tree), ID, GPU)

    assert (ordering.state, ordering.severity) == (State.ERROR, Severity.INFO)
    assert ordering.exit_code(strict=True) is ExitCode.OK


def test_a_function_of_conventional_pci_has_none(tmp_path: Path) -> None:
    conventional = ConfigBuilder("10de:20f3", 0x030200).power_management()

    ordering = found(tmp_path, replace(gpu(GPU, below=GPU_PORT), config=conventional), at=GPU)

    assert ordering.state is State.NOT_APPLICABLE
