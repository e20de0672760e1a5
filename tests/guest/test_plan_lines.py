"""A plan for people."""

import msgspec
import pytest
from guest.plans import a800_four_gpus_on_two_nodes, l20_one_gpu_and_a_vf, two_gpus_on_ports

from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.plan import Plan
from pcietune.guest.plan_lines import plan_heading, plan_lines, tree_lines


def lines(plan: Plan, file: str | None = None) -> list[str]:
    return list(plan_lines(plan, file))


def test_what_a_vm_is_stands_in_one_line() -> None:
    assert plan_heading(a800_four_gpus_on_two_nodes()) == (
        "vm0: 4 GPUs, 4 NICs of Bench a800, for QEMU 7.2 and later with seabios"
    )


def test_each_function_stands_below_its_bridge() -> None:
    plan = a800_four_gpus_on_two_nodes()
    tree = list(tree_lines(plan))

    names = {line.split()[0]: depth for depth, line in tree}
    for function in plan.functions:
        assert names[function.name] == names[function.parent] + 1
    assert len(tree) == len(plan.bridges) + len(plan.functions)


def test_a_vf_is_told_with_its_physical_function() -> None:
    (line,) = (line for _, line in tree_lines(l20_one_gpu_and_a_vf()) if line.startswith("nic0"))

    assert "the host's 0000:25:00.1  VF of 0000:25:00.0" in line


def test_a_link_that_is_not_known_is_told_not_to_be() -> None:
    plan = two_gpus_on_ports()
    unknown = msgspec.structs.replace(plan.functions[0], link_speed=None)
    plan = msgspec.structs.replace(plan, functions=[unknown, *plan.functions[1:]])

    (line,) = (line for _, line in tree_lines(plan) if line.startswith("gpu0"))

    assert line.endswith("link not known")


def test_cpus_and_pages_of_each_node_are_told() -> None:
    told = lines(a800_four_gpus_on_two_nodes())

    assert (
        "NUMA node 1 of the VM: 8 vCPUs, 64 GiB in 1 GiB pages, of the host's node 1 on CPUs 32-39"
        in told
    )


@pytest.mark.parametrize(
    ("model", "activator"),
    [
        (NvSwitchModel.SHARED, "the service VM"),
        (NvSwitchModel.HOST, "the host's Fabric Manager"),
    ],
)
def test_the_partition_of_the_nvswitches_is_told_and_who_activates_it(
    model: NvSwitchModel, activator: str
) -> None:
    plan = a800_four_gpus_on_two_nodes()
    part = msgspec.structs.replace(plan.nvswitch, partition=7, model=model)

    told = lines(msgspec.structs.replace(plan, nvswitch=part))

    assert any(
        line.startswith(f"NVSwitches: partition 7, which {activator} activates") for line in told
    )


def test_the_next_step_names_the_file_where_there_is_one() -> None:
    assert "pcietune guest qemu vm0.json" in lines(l20_one_gpu_and_a_vf(), "vm0.json")[-1]
    assert "-o FILE" in lines(l20_one_gpu_and_a_vf())[-1]
