"""VMs of 1, 2, 4 and 8 GPUs of each kind of server that pcietune has a profile of."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from skus.table import SKUS, Sku

from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan

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
