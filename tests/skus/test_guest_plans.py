"""VMs of 1, 2, 4 and 8 GPUs of each kind of server that pcietune has a profile of."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from skus.table import SKUS, Sku

from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan, plan_text

SIZES = (1, 2, 4, 8)
SERVERS = [sku for sku in SKUS if sku.server.switches * sku.server.gpus_each >= max(SIZES)]


@pytest.mark.parametrize("sku", SERVERS, ids=lambda sku: sku.profile)
def test_a_server_gives_vms_of_each_size_that_are_as_near_as_can_be(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    replace(sku.server, gpus=[sku.gpus[0]]).build(tmp_path)

    for size in SIZES:
        switches = str(_switches(sku, size))
        run = pcietune("guest", "plan", "--from", tmp_path, "--mode", "vm", "--gpus", str(size),
                       "--nics", switches, "--cpus", "8", "--memory", "8G", "--json")  # fmt: skip
        _check(sku, size, parse_plan(run.stdout, "it"))


def test_a_vm_gets_a_board_whole_with_its_nvswitches(pcietune: Pcietune, tmp_path: Path) -> None:
    _board(tmp_path)

    made = _planned(pcietune, tmp_path, "--gpus", "8", "--nvswitch", "full")

    kinds = [each.kind for each in made.functions]
    assert (kinds.count(Kind.GPU), kinds.count(Kind.NVSWITCH)) == (8, 6)
    assert made.nvswitch.board == "a800"


def test_a_service_vm_gets_the_nvswitches_that_are_named(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _board(tmp_path)
    named = [f"--function=0000:{bus:02x}:00.0" for bus in range(0xD3, 0xD9)]

    made = _planned(pcietune, tmp_path, *named, "--nvswitch", "shared")

    assert {each.kind for each in made.functions} == {Kind.NVSWITCH}
    assert len(made.functions) == 6


def test_vms_that_fill_a_board_are_partitions_and_share_nothing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _board(tmp_path)
    modules = tmp_path / "modules.yaml"
    buses = [bus + gpu for bus in (0x23, 0x43, 0x63, 0x83) for gpu in (0, 1)]
    order = (5, 8, 7, 6, 1, 4, 3, 2)  # not that of addresses
    modules.write_text(
        "".join(f"0000:{b:02x}:00.0: {m}\n" for b, m in zip(buses, order, strict=True))
    )
    options = ["--modules", str(modules), "--nvswitch", "host", "--share-switches"]
    seen: list[str] = []
    partitions = []
    for number, size in enumerate((2, 4, 2)):
        made = _planned(pcietune, tmp_path, "--gpus", str(size), *options)
        plan = tmp_path / f"{number}.json"
        plan.write_text(plan_text(made))
        options += ["--taken", str(plan)]
        seen += [each.address for each in made.functions]
        partitions.append(made.nvswitch.partition)

    assert len(seen) == len(set(seen)) == 16
    assert partitions == [13, 7, 14]  # modules 5 and 6, 1 to 4, 7 and 8: guide, table of A100


@pytest.mark.parametrize(("options", "vms"), [((), 4), (("--share-switches",), 8)])
def test_an_l20_server_gives_vms_of_one_gpu_a_vf_each_and_a_switch_each_unless_told_otherwise(
    pcietune: Pcietune, tmp_path: Path, options: tuple[str, ...], vms: int
) -> None:
    (sku,) = (sku for sku in SKUS if sku.profile == "l20")
    replace(sku.server, gpus=[sku.gpus[0]]).build(tmp_path)
    taken: list[str] = []
    seen: list[str] = []
    for number in range(vms):
        made = _planned(pcietune, tmp_path, "--gpus", "1", *options, *taken)
        plan = tmp_path / f"{number}.json"
        plan.write_text(plan_text(made))
        taken += ["--taken", str(plan)]
        seen += [each.address for each in made.functions]
        assert [each.physical_function is None for each in made.functions] == [True, False]

    run = pcietune("guest", "plan", "--from", tmp_path, "--mode", "vm", "--gpus", "1", *options,
                   *taken)  # fmt: skip

    assert len(seen) == len(set(seen)) == 2 * vms
    assert run.exit_code == 4
    assert ("--share-switches" in run.stderr) is (not options)


def _board(root: Path) -> None:
    (sku,) = (sku for sku in SKUS if sku.profile == "a800-sxm4-8gpu")
    replace(sku.server, gpus=[sku.gpus[0]]).build(root)


def _planned(pcietune: Pcietune, root: Path, *options: str) -> Plan:
    run = pcietune("guest", "plan", "--from", root, "--mode", "vm", "--json", "--cpus", "8",
                   "--memory", "8G", *options)  # fmt: skip
    assert run.exit_code == 0, run.stderr
    return parse_plan(run.stdout, "it")


def _switches(sku: Sku, size: int) -> int:
    """Return below how many switches so many GPUs are at best."""
    return -(-size // sku.server.gpus_each)


def _check(sku: Sku, size: int, plan: Plan) -> None:
    """Compare with what the shape of the server allows at best, with a NIC for each switch."""
    gpus = [each for each in plan.functions if each.kind is Kind.GPU]
    nics = [each for each in plan.functions if each.kind is Kind.NIC]
    switches = _switches(sku, size)
    assert len({each.switch for each in gpus}) == switches
    assert {each.switch for each in nics} == {each.switch for each in gpus}
    assert (len(gpus), len(nics)) == (size, switches)
    nodes = [sku.server.nodes[n % len(sku.server.nodes)] for n in range(sku.server.switches)]
    on_a_node = nodes.count(nodes[0])
    assert len({each.numa_node for each in gpus}) == -(-switches // on_a_node)
