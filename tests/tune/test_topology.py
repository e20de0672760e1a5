from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trees.config import ConfigBuilder
from trees.express import Express
from trees.fabrics import cascade
from trees.function import Function, downstream_port, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import FaultyHost, all_ones
from tune.judged import GPU, NIC, NIC_PORT, opened, surveyed
from tune.profiles import PROFILE

from pcietune.errors import ExitCode
from pcietune.model.access import HostAccess
from pcietune.model.function import LinkState, PciFunction
from pcietune.registers.acs import MemoryTargetAccess
from pcietune.registers.express import PortType
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.view.function_registers import AtsRegisters, SrIovRegisters
from pcietune.tune.view.topology import Node, topology


class LinkWatch(FaultyHost):
    """A host that notes whose link is asked for."""

    def __init__(self, host: HostAccess) -> None:
        super().__init__(host, None, [])
        self.asked: list[str] = []

    def link(self, function: PciFunction) -> LinkState:
        self.asked.append(str(function.address))
        return super().link(function)


def nodes(tree: TreeHost, *, everything: bool = False) -> dict[str, Node]:
    """Return all nodes of a tree by address, parents first."""
    return nodes_of(opened(tree), everything=everything)


def nodes_of(host: HostAccess, *, everything: bool = False) -> dict[str, Node]:
    fabric = surveyed(host)
    roles = assign_roles(PROFILE, fabric, host)

    def flat(some: Iterable[Node]) -> Iterable[Node]:
        for node in some:
            yield node
            yield from flat(node.children)

    found = topology(host, fabric, roles, everything=everything, protected={})
    return {str(node.function.address): node for node in flat(found)}


def test_the_tree_has_every_bridge_above_what_has_a_role(tmp_path: Path) -> None:
    assert list(nodes(one_switch(tmp_path))) == [
        "0000:20:01.0",
        "0000:21:00.0",
        "0000:22:00.0",
        GPU,
        NIC_PORT,
        NIC,
    ]


def test_a_cascade_shows_who_is_below_whom(tmp_path: Path) -> None:
    leaf = nodes(cascade(tmp_path))["0000:23:00.0"]

    assert [str(child.function.address) for child in leaf.children] == [
        "0000:24:00.0",
        "0000:24:04.0",
    ]


def test_what_has_no_role_is_shown_only_if_everything_is(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))

    assert "0000:41:00.0" not in nodes(tree)
    assert "0000:41:00.0" in nodes(tree, everything=True)


def test_a_node_has_role_port_type_and_what_its_registers_say(tmp_path: Path) -> None:
    found = nodes(one_switch(tmp_path))

    assert (found[NIC].role, found[NIC].port_type) == ("nic", PortType.ENDPOINT)
    assert found[NIC].ats == AtsRegisters(
        capability=0x0020,
        control=0x8000,
        enabled=True,
        page_aligned_request=True,
        global_invalidate=False,
        relaxed_ordering=False,
        invalidate_queue_depth=32,
        smallest_translation_unit=4096,
    )
    port = found[NIC_PORT]
    assert port.port_type is PortType.DOWNSTREAM_PORT
    assert port.acs
    assert (port.acs.capability, port.acs.control) == (0x005F, 0x001D)
    assert (port.acs.egress_vector_size, port.acs.enhanced) == (None, None)
    assert found["0000:21:00.0"].acs is None
    assert (found[GPU].ats, found[GPU].sriov) == (None, None)


def test_a_port_with_the_enhanced_capability_has_all_16_bits_decoded(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x08FF, 0x199D))

    acs = nodes(one_switch(tmp_path, instead=[port]))[NIC_PORT].acs

    assert acs
    assert acs.egress_vector_size == 8
    assert acs.enhanced
    assert acs.enhanced.io_request_blocking
    assert acs.enhanced.dsp_memory_target_access is MemoryTargetAccess.BLOCK
    assert acs.enhanced.usp_memory_target_access is MemoryTargetAccess.REDIRECT
    assert acs.enhanced.unclaimed_request_redirect


def test_a_virtual_function_has_neither_a_queue_nor_a_translation_unit_of_its_own(
    tmp_path: Path,
) -> None:
    tree = TreeHost(tmp_path)
    physical = nic("0000:0b:00.0", ats=(0x0025, 0x8001))
    physical.config.sriov(total=16, enabled=1, vf_device=0x101C)
    tree.add(physical, replace(nic("0000:0b:00.1"), physical_function="0000:0b:00.0"))

    found = nodes(tree)

    pf, vf = found["0000:0b:00.0"], found["0000:0b:00.1"]
    assert pf.sriov == SrIovRegisters(total_vfs=16, enabled_vfs=1, vf_device_id=0x101C)
    assert pf.ats
    assert (pf.ats.invalidate_queue_depth, pf.ats.smallest_translation_unit) == (5, 8192)
    assert vf.ats
    assert vf.ats.enabled
    assert (vf.ats.invalidate_queue_depth, vf.ats.smallest_translation_unit) == (None, None)
    assert vf.link == LinkState(None, None, None, None)


def test_no_vf_exists_while_vf_enable_is_off_whatever_was_asked_for(tmp_path: Path) -> None:
    physical = nic("0000:0b:00.0")
    physical.config.sriov(total=16, enabled=4, vf_device=0x101C, at=0x200).word(0x208, 0)
    tree = TreeHost(tmp_path)
    tree.add(physical)

    sriov = nodes(tree)["0000:0b:00.0"].sriov

    assert sriov
    assert (sriov.enabled_vfs, sriov.total_vfs) == (0, 16)


def test_a_link_that_sysfs_does_not_know_is_told_by_its_registers(tmp_path: Path) -> None:
    unknown = {
        "current_link_speed": "Unknown",
        "current_link_width": "0",
        "max_link_speed": "Unknown",
        "max_link_width": "0",
    }
    tree = TreeHost(tmp_path)
    config = ConfigBuilder("15b3:1023", 0x020700).express(0, Express(speed=6, lanes=8))
    tree.add(Function("0000:0b:00.0", config, attributes=unknown))

    link = nodes(tree)["0000:0b:00.0"].link

    assert link == LinkState("64.0 GT/s PCIe", 8, "64.0 GT/s PCIe", 8)


def test_a_conventional_bridge_has_no_port_type(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    tree.add(Function("0000:00:1e.0", ConfigBuilder("8086:244e", 0x060401)))

    assert nodes(tree)["0000:00:1e.0"].port_type is None


def test_the_link_of_a_function_in_d3cold_is_not_asked_for(tmp_path: Path) -> None:
    asleep = replace(gpu(GPU, below="0000:22:00.0"), attributes={"power_state": "D3cold"})
    host = LinkWatch(opened(one_switch(tmp_path, instead=[asleep])))

    found = nodes_of(host)

    assert set(found) - set(host.asked) == {GPU}
    assert found[GPU].state
    assert "is in D3cold" in str(found[GPU].problem)


def test_a_function_that_does_not_answer_is_shown_with_its_problem(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC)

    found = nodes(tree)

    problem = found[NIC].problem
    assert problem
    assert "does not answer" in str(problem)
    assert found[NIC].state
    assert found["0000:20:01.0"].codes() == [ExitCode.UNREADABLE]


def test_what_is_below_an_unknown_bridge_is_a_tree_of_its_own(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tree.directory("0000:21:00.0") / "uevent").unlink()
    host = opened(tree)

    found = topology(host, surveyed(host), {}, everything=True, protected={})

    tops = [str(node.function.address) for node in found]
    assert tops == ["0000:20:01.0", "0000:22:00.0", NIC_PORT]
