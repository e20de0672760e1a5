"""What NCCL has to be told by its environment in a planned VM."""

import subprocess
from collections.abc import Mapping

import msgspec
import pytest
from guest.plans import a800_two_gpus, l20_one_gpu_and_a_vf, two_gpus_on_ports

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.kinds import Kind
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.environment import conf_lines, environment, reminders, shell_lines
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan

FILE = "/etc/nccl-topology.xml"


def _set(plan: Plan, wanted: Wanted | None = None) -> Mapping[str, str]:
    """Return what a shell has set after it read the lines."""
    lines = list(shell_lines(environment(plan, wanted or Wanted(), FILE), ["a reminder"]))
    script = "\n".join([*lines, "env"])
    said = subprocess.run(
        ["sh", "-eu"], input=script, env={"PATH": "/usr/bin:/bin"}, check=True,
        capture_output=True, text=True,
    ).stdout  # fmt: skip
    pairs = (line.partition("=") for line in said.splitlines())
    return {name: text for name, _, text in pairs if name.startswith("NCCL_")}


def _known_of(plan: Plan) -> dict[str, str]:
    """Return what is told beside what is set, with the reason."""
    return {
        f"{each.name}={each.text}": each.why
        for each in environment(plan, Wanted(), FILE)
        if not each.wanted
    }


def test_relaxed_ordering_is_asked_for_in_a_vm_with_nics() -> None:
    assert _set(a800_two_gpus()) == {
        "NCCL_TOPO_FILE": FILE,
        "NCCL_IB_PCI_RELAXED_ORDERING": "1",
    }


def test_a_vm_without_nics_is_told_its_file_alone() -> None:
    plan = a800_two_gpus()
    gpus = [each for each in plan.functions if each.kind is Kind.GPU]
    alone = msgspec.structs.replace(plan, functions=gpus)

    assert _set(alone) == {"NCCL_TOPO_FILE": FILE}
    assert reminders(alone, Library.NCCL) == []


def test_a_nic_with_a_device_number_is_not_to_be_rounded() -> None:
    wanted = Wanted(addresses={"nic0": PciAddress.parse("0000:00:09.0")})

    assert _set(l20_one_gpu_and_a_vf(), wanted)["NCCL_IB_MERGE_VFS"] == "0"


def test_a_gpu_whose_nics_are_elsewhere_is_told_the_level_that_it_would_need() -> None:
    plan = two_gpus_on_ports()
    functions = [
        msgspec.structs.replace(each, switch="0000:20:00.0/01.0") if each.name == "gpu1" else each
        for each in plan.functions
    ]

    told = _known_of(msgspec.structs.replace(plan, functions=functions))

    assert told["NCCL_NET_GDR_LEVEL=PHB"].startswith("gpu1: no NIC below the same switch")
    assert "NCCL_NET_GDR_LEVEL=PHB" not in _known_of(plan)


def test_functions_below_no_switch_are_no_neighbours() -> None:
    plan = two_gpus_on_ports()
    functions = [msgspec.structs.replace(each, switch=None) for each in plan.functions]

    told = _known_of(msgspec.structs.replace(plan, functions=functions))

    assert told["NCCL_NET_GDR_LEVEL=PHB"].startswith("gpu0, gpu1: no NIC")


def test_the_way_back_from_a_clique_is_told_where_there_is_one() -> None:
    plan = a800_two_gpus()
    functions = [
        msgspec.structs.replace(each, clique=0) if each.kind is Kind.GPU else each
        for each in plan.functions
    ]

    assert "NCCL_P2P_DISABLE=1" in _known_of(msgspec.structs.replace(plan, functions=functions))
    assert "NCCL_P2P_DISABLE=1" not in _known_of(plan)


def test_nccl_conf_has_no_word_of_the_shell_and_a_reason_above_each_line() -> None:
    variables = environment(a800_two_gpus(), Wanted(), FILE)
    lines = list(conf_lines(variables, reminders(a800_two_gpus(), Library.NCCL)))

    plain = [line for line in lines if not line.startswith("#")]
    assert plain == [f"NCCL_TOPO_FILE={FILE}", "NCCL_IB_PCI_RELAXED_ORDERING=1"]
    assert all(lines[lines.index(line) - 1].startswith("# ") for line in plain)
    assert "nvidia_peermem" in lines[-1]


def test_rccls_modules_are_others() -> None:
    assert "amdkfd" in reminders(a800_two_gpus(), Library.RCCL)[0]


def test_what_rccl_warns_of_is_told_of_rccl_alone() -> None:
    assert "HSA_FORCE_FINE_GRAIN_PCIE=1" in reminders(a800_two_gpus(), Library.RCCL)[-1]
    assert "HSA" not in " ".join(reminders(a800_two_gpus(), Library.NCCL))


@pytest.mark.parametrize("path", ["topology.xml", "/etc/my topology.xml", "/etc/$(reboot)", ""])
def test_a_path_that_a_shell_would_change_is_refused(path: str) -> None:
    with pytest.raises(BadInputError, match="no absolute path"):
        environment(a800_two_gpus(), Wanted(), path)
