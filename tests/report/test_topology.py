from dataclasses import replace
from pathlib import Path

import msgspec
from trees.config import ENDPOINT, ConfigBuilder
from trees.express import Express
from trees.function import Function, downstream_port, nic, nvswitch
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, vanish
from tune.judged import GPU, NIC, NIC_PORT, opened, surveyed
from tune.profiles import PROFILE

from pcietune.report.topology import TopologyDocument, plain_lines, topology_document, trees
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.view.topology import Node, topology


def nodes(tree: TreeHost) -> tuple[Node, ...]:
    host = opened(tree)
    fabric = surveyed(host)
    return topology(
        host, fabric, assign_roles(PROFILE, fabric, host), everything=True, protected={}
    )


def test_plain_lines_are_indented_by_depth(tmp_path: Path) -> None:
    lines = list(plain_lines(nodes(one_switch(tmp_path, driver="vfio-pci"))))

    assert lines == [
        (
            "0000:20:01.0  8086:347a  root port  16.0 GT/s x16  node 0  group 0  driver pcieport  "
            "ACSCap 0x005f ACSCtl 0x001d DirectTrans-"
        ),
        "  0000:21:00.0  1000:c010  upstream port  16.0 GT/s x16  node 0  group 1  driver pcieport",
        (
            "    0000:22:00.0  1000:c010  downstream port  16.0 GT/s x16  node 0  group 2  "
            "driver pcieport  ACSCap 0x005f ACSCtl 0x001d DirectTrans-"
        ),
        "      0000:23:00.0  10de:20f3  gpu  16.0 GT/s x16  node 0  group 4  driver vfio-pci",
        (
            "    0000:22:04.0  1000:c010  downstream port  16.0 GT/s x16  node 0  group 3  "
            "driver pcieport  ACSCap 0x005f ACSCtl 0x001d DirectTrans-"
        ),
        (
            "      0000:24:00.0  15b3:101b  nic  16.0 GT/s x16  node 0  group 5  driver vfio-pci  "
            "ATS Enable+ PageAligned+ GlobalInvalidate- QueueDepth 32 STU 4096"
        ),
    ]


def test_what_is_missing_or_was_not_read_is_said(tmp_path: Path) -> None:
    linkless = ConfigBuilder("10de:20f3", 0x030200).express(ENDPOINT, Express(speed=0, lanes=0))
    tree = one_switch(
        tmp_path,
        iommu=False,
        instead=[
            downstream_port(NIC_PORT, below="0000:21:00.0", acs=None),
            Function(
                GPU, linkless, below="0000:22:00.0", attributes={"current_link_speed": "Unknown"}
            ),
        ],
    )
    all_ones(tree, NIC)

    lines = list(plain_lines(nodes(tree)))

    assert lines[4].endswith("no group  driver pcieport  no ACS")
    assert "  gpu  node 0  no group  no driver" in lines[3]
    assert lines[5].endswith("NOT READ: 0000:24:00.0 does not answer: it reads as all ones")


def test_what_has_no_role_is_told_by_its_class(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(nvswitch("0000:60:00.0"))

    assert list(plain_lines(nodes(tree)))[-1].startswith("0000:60:00.0  10de:1af1  class 0680  ")


def test_bits_that_lspci_has_no_names_for_are_shown_by_the_specifications(tmp_path: Path) -> None:
    tree = one_switch(
        tmp_path,
        instead=[downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x08FF, 0x199D))],
    )

    lines = list(plain_lines(nodes(tree)))

    assert lines[4].endswith(
        "  ACSCap 0x08ff ACSCtl 0x199d DirectTrans- IORequestBlocking+ "
        "DSPMemoryTargetAccess block USPMemoryTargetAccess redirect UnclaimedRequestRedirect+ "
        "EgressVectorSize 8"
    )


def test_a_physical_function_tells_how_many_vfs_it_has_and_a_vf_leaves_to_it_what_they_share(
    tmp_path: Path,
) -> None:
    lines = list(plain_lines(nodes(_with_virtual_function(tmp_path))))

    assert lines[0].endswith("QueueDepth 5 STU 8192  VFs 1 of 16")
    assert lines[1].endswith("ATS Enable+ PageAligned+ GlobalInvalidate-")


def test_a_bridge_that_was_not_read_is_not_said_to_be_any_kind_of_port(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    assert "  1000:c010  bridge  " in list(plain_lines(nodes(tree)))[4]


def test_a_function_that_vanished_is_told_by_its_problem_alone(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = opened(tree)
    fabric = surveyed(host)
    vanish(tree, NIC)

    lines = list(plain_lines(topology(host, fabric, {}, everything=True, protected={})))

    assert "node" not in lines[5]
    assert "NOT READ: 0000:24:00.0 vanished" in lines[5]


def test_a_terminal_gets_a_tree_for_each_root_port(tmp_path: Path) -> None:
    (root,) = trees(nodes(one_switch(tmp_path)))

    (switch,) = root.children
    assert len(switch.children) == 2


def test_the_document_has_words_in_hex_and_bits_by_name(tmp_path: Path) -> None:
    text = topology_document(nodes(one_switch(tmp_path)))

    (root,) = msgspec.json.decode(text, type=TopologyDocument).functions
    (switch,) = root.children
    _, port = switch.children
    (nic,) = port.children
    assert (port.path, port.port_type) == ("0000:20:01.0/00.0/04.0", "downstream_port")
    assert (port.acs_capability, port.acs_control) == ("0x005f", "0x001d")
    assert port.acs_bits
    assert "ReqRedir+" in port.acs_bits
    assert (nic.role, nic.ats_control, nic.ats_enabled, nic.acs_control) == (
        "nic",
        "0x8000",
        True,
        None,
    )
    assert (nic.class_code, nic.link_speed, nic.link_width) == ("020700", "16.0 GT/s PCIe", 16)


def test_the_document_has_every_decoded_field_on_one_level(tmp_path: Path) -> None:
    tree = one_switch(
        tmp_path / "ports",
        instead=[downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x08FF, 0x199D))],
    )

    (root,) = msgspec.json.decode(topology_document(nodes(tree)), type=TopologyDocument).functions
    port = root.children[0].children[1]
    text = topology_document(nodes(_with_virtual_function(tmp_path / "vf")))
    pf, vf = msgspec.json.decode(text, type=TopologyDocument).functions

    assert port.acs_egress_vector_size == 8
    assert port.acs_io_request_blocking is True
    assert port.acs_dsp_memory_target_access == "block"
    assert port.acs_usp_memory_target_access == "redirect"
    assert port.acs_unclaimed_request_redirect is True
    assert root.acs_capability == "0x005f"
    assert root.acs_egress_vector_size is None
    assert root.acs_io_request_blocking is None
    assert root.acs_usp_memory_target_access is None
    assert (pf.port_type, pf.ats_page_aligned_request, pf.ats_global_invalidate) == (
        "endpoint",
        True,
        False,
    )
    assert (pf.ats_invalidate_queue_depth, pf.ats_smallest_translation_unit) == (5, 8192)
    assert (vf.ats_invalidate_queue_depth, vf.ats_smallest_translation_unit) == (None, None)
    assert (pf.sriov_total_vfs, pf.sriov_enabled_vfs, pf.sriov_vf_device_id) == (16, 1, "0x101c")
    assert vf.sriov_total_vfs is None


def test_a_function_that_was_not_read_has_nulls_and_its_problem(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    text = topology_document(nodes(tree))

    (root,) = msgspec.json.decode(text, type=TopologyDocument).functions
    port = root.children[0].children[1]
    assert (port.acs_control, port.acs_bits, port.ats_enabled) == (None, None, None)
    assert port.port_type is None
    assert port.problem
    assert "does not answer" in port.problem


def _with_virtual_function(root: Path) -> TreeHost:
    tree = TreeHost(root)
    physical = nic("0000:0b:00.0", ats=(0x0025, 0x8001))
    physical.config.sriov(total=16, enabled=1, vf_device=0x101C)
    tree.add(physical, replace(nic("0000:0b:00.1"), physical_function="0000:0b:00.0"))
    return tree
