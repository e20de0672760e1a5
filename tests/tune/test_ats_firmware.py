"""ATS that the host's firmware allows or does not, by the tables that only root may read."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.acpi import ATSR, ENDPOINT, SATC, dmar, iort, put_table, root_complex, scope, structure
from trees.function import nic
from trees.host import TreeHost
from tune.ats_hosts import OFF, ON, amd, arm, host
from tune.judged import NIC, NIC_PORT, finding, judged
from tune.profiles import handing_over, with_mode

from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import AtsPolicy, Attach, Mode

PROFILE = with_mode(Mode({}, AtsPolicy.JUDGE))
VF = "0000:24:00.1"
ALL_PORTS = ATC_REQUIRED = 1

ROOT_PORT = scope(0x20, ((1, 0),))  # 0000:20:01.0, above the NIC
ANOTHER_PORT = scope(0x20, ((3, 0),))
THE_NIC = scope(0x20, ((1, 0), (0, 0), (4, 0), (0, 0)), ENDPOINT)


def ats_of(tree: TreeHost, address: str = NIC) -> Finding:
    return finding(judged(tree, PROFILE), "nic.ats", address)


@pytest.mark.parametrize("domain", ["identity", "DMA-FQ"])
def test_a_root_port_that_no_atsr_names_is_the_cause(tmp_path: Path, domain: str) -> None:
    tree = host(tmp_path, OFF, domain=domain)
    put_table(tree, dmar(structure(ATSR, ANOTHER_PORT)))

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason == "ATS is not on for root port 0000:20:01.0 in the firmware's DMAR ATSR"
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS


def test_enable_that_somebody_wrote_below_such_a_port_is_of_no_use(tmp_path: Path) -> None:
    tree = host(tmp_path, ON)
    put_table(tree, dmar(structure(ATSR, ANOTHER_PORT)))

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason.startswith("on, but of no use: ATS is not on for root port 0000:20:01.0")


@pytest.mark.parametrize(
    "allowing",
    [
        pytest.param(structure(ATSR, ROOT_PORT), id="by name"),
        pytest.param(structure(ATSR, flags=ALL_PORTS), id="all ports"),
        pytest.param(structure(SATC, THE_NIC), id="an SATC"),
    ],
)
def test_where_the_firmware_allows_it_somebody_cleared_the_bit(
    tmp_path: Path, allowing: bytes
) -> None:
    tree = host(tmp_path, OFF)
    put_table(tree, dmar(allowing))

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason == (
        "off though idle under domain type DMA-FQ, where the kernel would have turned it on: "
        "somebody cleared 0000:24:00.0's Enable bit behind the kernel's back"
    )


def test_an_atsr_of_another_segment_does_not_count(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF)
    put_table(tree, dmar(structure(ATSR, ROOT_PORT, flags=ALL_PORTS, segment=1)))

    assert "in the firmware's DMAR ATSR" in ats_of(tree).reason


def test_a_table_that_cannot_be_read_is_not_one_without_the_port(tmp_path: Path) -> None:
    pending = ats_of(host(tmp_path / "pending", OFF, domain="identity"))
    lost = ats_of(host(tmp_path / "lost", OFF))

    assert pending.state is State.PENDING
    assert "(DMAR ATSR), which is not readable here, or somebody cleared" in lost.reason


def test_what_an_satc_calls_required_is_not_known(tmp_path: Path) -> None:
    tree = host(tmp_path, OFF, domain="identity")
    put_table(tree, dmar(structure(SATC, THE_NIC, flags=ATC_REQUIRED)))

    assert ats_of(tree).state is State.PENDING


def test_a_vf_goes_by_the_root_port_of_its_pf(tmp_path: Path) -> None:
    tree = host(tmp_path, ON)
    virtual = nic(VF, below=NIC_PORT, driver="vfio-pci", ats=OFF)
    tree.add(replace(virtual, physical_function=NIC, group=6, iommu="dmar0"))
    tree.group_type(6, "identity")
    profile = replace(handing_over(Attach.VF), modes=PROFILE.modes)

    put_table(tree, dmar(structure(SATC, THE_NIC)))
    allowed = finding(judged(tree, profile), "nic.ats", VF)
    put_table(tree, dmar(structure(ATSR, ANOTHER_PORT)))
    left_out = finding(judged(tree, profile), "nic.ats", VF)

    assert allowed.state is State.PENDING
    assert left_out.state is State.FAIL
    assert "root port 0000:20:01.0" in left_out.reason


def test_amd_and_arm_do_not_go_by_dmar(tmp_path: Path) -> None:
    trees = [
        amd(host(tmp_path / "amd", ON)),
        arm(host(tmp_path / "arm", ON)),
    ]
    for tree in trees:
        put_table(tree, dmar(structure(ATSR, ANOTHER_PORT)))

    assert [ats_of(tree).state for tree in trees] == [State.PASS, State.PASS]


def test_on_arm_the_root_complex_must_have_ats_in_the_iort(tmp_path: Path) -> None:
    tree = arm(host(tmp_path, OFF, domain="identity"))
    put_table(tree, iort([root_complex(1, 1), root_complex(0, 0)]))

    found = ats_of(tree)

    assert found.state is State.FAIL
    assert found.reason == "the root complex of PCI domain 0000 has no ATS in the firmware's IORT"
    assert found.remedy
    assert found.remedy.kind is RemedyKind.BIOS


@pytest.mark.parametrize("segments", [{0: 1}, {1: 0}], ids=["with ATS", "another segment's"])
def test_an_iort_that_does_not_forbid_it_leaves_it_to_vfio(
    tmp_path: Path, segments: dict[int, int]
) -> None:
    tree = arm(host(tmp_path, OFF, domain="identity"))
    put_table(tree, iort(root_complex(*each) for each in segments.items()))

    assert ats_of(tree).state is State.PENDING


def test_what_came_before_smmu_v3_has_no_ats(tmp_path: Path) -> None:
    found = ats_of(arm(host(tmp_path, OFF, domain="identity"), "smmu.0x0000000010000000"))

    assert found.state is State.FAIL
    assert found.reason.startswith("IOMMU smmu.0x0000000010000000 has no device TLB")


def test_amd_has_no_table_and_its_driver_gives_no_reason(tmp_path: Path) -> None:
    found = ats_of(amd(host(tmp_path, OFF)))

    assert found.state is State.FAIL
    assert "the IOMMU's driver had a reason that cannot be read here" in found.reason
