"""``pcietune guest libvirt`` as its users run it."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from cli.in_process import Pcietune
from guest.plans import a800_four_gpus_on_two_nodes
from msgspec.structs import replace

from pcietune.guest.kinds import Backend
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import plan_text


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return _written(tmp_path, a800_four_gpus_on_two_nodes())


def _written(folder: Path, plan: Plan) -> Path:
    path = folder / "vm0.json"
    path.write_text(plan_text(plan))
    return path


def test_a_plan_is_printed_as_a_domain(pcietune: Pcietune, plan: Path) -> None:
    run = pcietune("guest", "libvirt", plan)

    assert (run.exit_code, run.stderr) == (0, "")
    domain = ET.fromstring(run.stdout)
    assert (domain.tag, domain.findtext("name")) == ("domain", "vm0")
    assert len(domain.findall("devices/hostdev")) == 8


def test_a_fragment_has_no_name_and_begins_at_the_index_that_is_free(
    pcietune: Pcietune, plan: Path
) -> None:
    run = pcietune("guest", "libvirt", plan, "--fragment", "--first-index", "12")

    domain = ET.fromstring(run.stdout)
    indexes = [each.get("index") for each in domain.findall("devices/controller")]
    assert (run.exit_code, domain.find("name"), domain.find("os")) == (0, None, None)
    assert indexes == ["0", *(str(n) for n in range(12, 26))]
    bus = domain.find("devices/controller[@index='13']/address")
    assert bus is not None
    assert bus.get("bus") == "0x0c"


def test_an_index_without_a_fragment_is_refused(pcietune: Pcietune, plan: Path) -> None:
    run = pcietune("guest", "libvirt", plan, "--first-index", "12")

    assert (run.exit_code, run.stdout) == (4, "")
    assert "say --fragment beside it" in run.stderr


def test_memory_is_shared_out_as_was_planned(pcietune: Pcietune, plan: Path) -> None:
    run = pcietune("guest", "libvirt", plan, "--memory", "4G")

    domain = ET.fromstring(run.stdout)
    cells = domain.findall("cpu/numa/cell")
    assert domain.findtext("memory") == "4096"
    assert [each.get("memory") for each in cells] == ["2048", "2048"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--memory", "much"), "no amount of memory"),
        (("--memory", "1500M"), "--memory 2048M can"),
        (("--libvirt", "8.0"), "all address bits"),
        (("--libvirt", "new"), "no release of libvirt"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    pcietune: Pcietune, plan: Path, options: tuple[str, str], said: str
) -> None:
    run = pcietune("guest", "libvirt", plan, *options)

    assert (run.exit_code, run.stdout) == (4, "")
    assert said in " ".join(run.stderr.split())


def test_iommufd_needs_a_libvirt_that_knows_it(pcietune: Pcietune, tmp_path: Path) -> None:
    planned = a800_four_gpus_on_two_nodes()
    machine = replace(planned.machine, qemu="9.0", backend=Backend.IOMMUFD)
    path = _written(tmp_path, replace(planned, machine=machine))

    refused = pcietune("guest", "libvirt", path)
    printed = pcietune("guest", "libvirt", path, "--libvirt", "12.2")

    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "iommufd" in refused.stderr
    assert printed.exit_code == 0
    assert printed.stdout.count("iommufd='yes'") == 8


def test_warnings_of_the_plan_are_told_beside_the_domain(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    planned = replace(a800_four_gpus_on_two_nodes(), warnings=["gpu0: MIG is not known"])

    run = pcietune("guest", "libvirt", _written(tmp_path, planned))

    assert (run.exit_code, run.stderr) == (0, "pcietune: gpu0: MIG is not known\n")
    assert run.stdout.startswith("<domain ")


def test_what_is_no_plan_is_refused(pcietune: Pcietune, tmp_path: Path) -> None:
    path = tmp_path / "vm0.json"
    path.write_text("{}")

    assert pcietune("guest", "libvirt", path).exit_code == 4
    assert pcietune("guest", "libvirt", tmp_path / "none.json").exit_code == 4
