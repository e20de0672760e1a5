"""NCCL's topology file of a planned VM, read by rules that are told anew here."""

import msgspec
import pytest
from guest.nccl.model import gigabytes, path_type, ways
from guest.nccl.written import element, read_of, text_of
from guest.plans import (
    a800_four_gpus_on_two_nodes,
    a800_two_gpus,
    l20_one_gpu_and_a_vf,
    two_gpus_on_ports,
)

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.kinds import Kind
from pcietune.guest.nccl.bus_id import nic_bus_id
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.topology import topology
from pcietune.guest.nccl.wanted import Wanted, parse_addresses, parse_cpu
from pcietune.guest.plan import Plan


def _with(plan: Plan, name: str, **changes: object) -> Plan:
    functions = [
        msgspec.structs.replace(each, **changes) if each.name == name else each
        for each in plan.functions
    ]
    return msgspec.structs.replace(plan, functions=functions)


def _alone(plan: Plan, **changes: object) -> Plan:
    functions = [msgspec.structs.replace(each, **changes) for each in plan.functions]
    return msgspec.structs.replace(plan, functions=functions)


def test_a_gpu_and_a_nic_below_one_emulated_switch_are_one_pci_node_apart() -> None:
    found = ways(read_of(a800_two_gpus()))

    assert set(found) == {"0000:23:00.0", "0000:24:00.0", "0000:25:00.0", "0000:26:00.0"}
    assert path_type(found["0000:23:00.0"], found["0000:25:00.0"]) == "PIX"
    assert found["0000:23:00.0"].switches == ("0000:21:00.0",)  # its upstream port, up0


def test_functions_of_two_nodes_are_below_their_own_cpus() -> None:
    root = read_of(a800_four_gpus_on_two_nodes())
    found = ways(root)

    assert path_type(found["0000:23:00.0"], found["0000:45:00.0"]) == "SYS"
    assert path_type(found["0000:43:00.0"], found["0000:45:00.0"]) == "PIX"
    assert [each.attributes for each in root.children] == [
        {"numaid": "0", "affinity": "000000ff"},
        {"numaid": "1", "affinity": "0000ff00"},
    ]


def test_a_switch_has_the_hosts_link_and_not_that_of_an_emulated_one() -> None:
    plan = a800_two_gpus()
    bridges = [
        msgspec.structs.replace(each, link_speed="32.0 GT/s PCIe", link_width=4)
        if each.name == "up0"
        else each
        for each in plan.bridges
    ]
    known = msgspec.structs.replace(plan, bridges=bridges)

    assert gigabytes(element(read_of(known), "0000:21:00.0")) == 12  # 32 GT/s x4
    assert topology(known, Wanted()).notes == ()
    assert gigabytes(element(read_of(known, Wanted(invent=True)), "ffff:ff:01.0")) == 12
    # where it is not told, the fastest below stands for it, and that is said
    assert gigabytes(element(read_of(plan), "0000:21:00.0")) == 24  # 16 GT/s x16
    assert "(inference)" in topology(plan, Wanted()).notes[0]


def test_of_vfs_it_is_told_that_nccl_takes_the_whole_port_for_theirs() -> None:
    told = " ".join(topology(l20_one_gpu_and_a_vf(), Wanted()).notes)

    assert "nic0: to NCCL a VF has the speed of its whole port" in told
    assert not any("VF" in note for note in topology(a800_two_gpus(), Wanted()).notes)


def test_a_flat_vm_gets_an_invented_switch_around_what_is_below_one_of_the_hosts() -> None:
    plan = _with(two_gpus_on_ports(), "nic1", switch=None)
    found = ways(read_of(plan))

    assert found["0000:21:00.0"].switches == ("ffff:ff:01.0",)
    assert path_type(found["0000:21:00.0"], found["0000:22:00.0"]) == "PIX"
    assert path_type(found["0000:21:00.0"], found["0000:23:00.0"]) == "PIX"
    assert path_type(found["0000:21:00.0"], found["0000:24:00.0"]) == "PHB"


def test_each_switch_of_the_host_gets_an_invented_one_of_its_own() -> None:
    plan = two_gpus_on_ports()
    for name in ("gpu1", "nic1"):
        plan = _with(plan, name, switch="0000:20:00.0/01.0")
    found = ways(read_of(plan))

    assert found["0000:22:00.0"].switches == found["0000:24:00.0"].switches == ("ffff:ff:02.0",)
    assert path_type(found["0000:21:00.0"], found["0000:22:00.0"]) == "PHB"


def test_invented_switches_take_the_place_of_emulated_ones_on_request() -> None:
    found = ways(read_of(a800_four_gpus_on_two_nodes(), Wanted(invent=True)))

    assert {each.switches for each in found.values()} == {("ffff:ff:01.0",), ("ffff:ff:02.0",)}


def test_addresses_of_a_vm_that_others_laid_out_take_the_place_of_the_planned() -> None:
    plan = l20_one_gpu_and_a_vf()
    addresses = parse_addresses(["gpu0=0000:05:00.0", "nic0=06:00.3"], plan)
    found = ways(read_of(plan, Wanted(invent=True, addresses=addresses)))

    assert set(found) == {"0000:05:00.0", "0000:06:00.0"}  # the NIC's as NCCL rounds it


def test_a_nic_on_the_root_bus_keeps_its_device_digits_and_needs_a_variable() -> None:
    wanted = Wanted(invent=True, addresses={"nic0": PciAddress.parse("0000:00:09.0")})
    plan = l20_one_gpu_and_a_vf()

    assert "0000:00:09.0" in ways(read_of(plan, wanted))
    assert any("NCCL_IB_MERGE_VFS=0" in note for note in topology(plan, wanted).notes)


def test_two_functions_of_one_nic_are_one_to_nccl() -> None:
    plan = _with(a800_two_gpus(), "nic1", guest_address="0000:25:00.1")

    assert set(ways(read_of(plan))) == {"0000:23:00.0", "0000:24:00.0", "0000:25:00.0"}


@pytest.mark.parametrize(
    ("address", "merged", "kept"),
    [
        ("0000:05:00.0", "0000:05:00.0", "0000:05:00.0"),
        ("0000:05:00.3", "0000:05:00.0", "0000:05:00.0"),
        ("0000:05:1f.7", "0000:05:00.0", "0000:05:1f.0"),
        ("0000:00:09.0", "0000:00:00.0", "0000:00:09.0"),
    ],
)
def test_a_nics_id_is_rounded_as_nccl_does(address: str, merged: str, kept: str) -> None:
    nic = PciAddress.parse(address)

    assert nic_bus_id(nic, merge_vfs=True) == merged
    assert nic_bus_id(nic, merge_vfs=False) == kept


def test_siblings_are_in_the_order_of_their_ids() -> None:
    plan = a800_two_gpus()
    backwards = msgspec.structs.replace(plan, functions=plan.functions[::-1])

    assert text_of(backwards) == text_of(plan)


def test_a_switchs_link_that_is_not_told_is_at_least_the_fastest_below() -> None:
    plan = _with(a800_two_gpus(), "gpu1", link_speed="32.0 GT/s PCIe")

    assert gigabytes(element(read_of(plan), "0000:21:00.0")) == 48  # 32 GT/s x16


def test_a_switch_below_a_switch_is_below_it_in_the_file() -> None:
    plan = a800_four_gpus_on_two_nodes()
    bridges = [
        msgspec.structs.replace(each, parent="dp0") if each.name == "rp1" else each
        for each in plan.bridges
    ]
    nested = msgspec.structs.replace(plan, bridges=bridges, cells=plan.cells[:1])
    found = ways(read_of(nested))

    assert found["0000:43:00.0"].switches == ("0000:41:00.0", "0000:21:00.0")
    assert path_type(found["0000:43:00.0"], found["0000:44:00.0"]) == "PIX"
    assert path_type(found["0000:43:00.0"], found["0000:25:00.0"]) == "PXB"


def test_neither_nvswitches_nor_companions_are_in_it() -> None:
    plan = _with(a800_two_gpus(), "gpu1", kind=Kind.NVSWITCH, class_code="0x068000")
    plan = _with(plan, "nic1", kind=Kind.COMPANION)

    assert set(ways(read_of(plan))) == {"0000:23:00.0", "0000:25:00.0"}


def test_a_function_without_a_cell_has_that_of_its_expander() -> None:
    plan = _with(a800_four_gpus_on_two_nodes(), "gpu2", cell=None, switch=None)

    assert ways(read_of(plan))["0000:43:00.0"].numaid == "1"


def test_links_are_spelt_as_every_nccl_knows_them() -> None:
    plan = _with(a800_two_gpus(), "gpu0", link_speed="16 GT/s", link_width=8)
    gpu = element(read_of(plan), "0000:23:00.0")

    assert (gpu.attributes["link_speed"], gigabytes(gpu)) == ("16.0 GT/s PCIe", 12)


def test_a_link_that_is_not_known_is_left_to_nccl_and_said_where_that_cannot_find_it() -> None:
    plan = _alone(two_gpus_on_ports(), link_speed="Unknown", link_width=None)
    root = read_of(plan)

    assert "link_speed" not in element(root, "0000:21:00.0").attributes
    assert gigabytes(element(root, "ffff:ff:01.0")) == 12  # what NCCL takes for what it knows not
    assert "no link below it is known" in topology(plan, Wanted()).notes[0]


def test_a_function_whose_node_is_not_known_is_put_where_nccl_puts_it() -> None:
    plan = _with(a800_four_gpus_on_two_nodes(), "nic3", cell=None, switch=None, parent="pcie.0")
    found = ways(read_of(plan))

    assert found["0000:46:00.0"].numaid == "-1"
    assert topology(plan, Wanted()).notes[0].startswith("nic3: which NUMA node")


def test_the_only_cell_is_that_of_all() -> None:
    plan = _alone(two_gpus_on_ports(), cell=None, parent="pcie.0")

    assert {each.numaid for each in ways(read_of(plan)).values()} == {"0"}


def test_rccl_reads_version_2() -> None:
    root = read_of(a800_two_gpus(), Wanted(library=Library.RCCL))

    assert root.attributes == {"version": "2"}


def test_a_cpu_is_told_on_request() -> None:
    told = read_of(a800_two_gpus(), Wanted(cpu=parse_cpu("GenuineIntel:6:143"))).children[0]
    other = read_of(a800_two_gpus(), Wanted(cpu=parse_cpu("arm64"))).children[0]

    assert {k: v for k, v in told.attributes.items() if k not in {"numaid", "affinity"}} == {
        "arch": "x86_64", "vendor": "GenuineIntel", "familyid": "6", "modelid": "143",
    }  # fmt: skip
    assert other.attributes["arch"] == "arm64"


def test_nothing_is_written_that_a_dump_has_of_a_run() -> None:
    root = read_of(a800_four_gpus_on_two_nodes())

    assert {each.name for each in root.all()} == {"system", "cpu", "pci"}
    assert not {"rank", "dev", "host_hash", "keep"} & {
        key for each in root.all() for key in each.attributes
    }


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [
        ((), "00000000"),
        ((0,), "00000001"),
        ((31, 32), "00000001,80000000"),
        (range(64, 96), "ffffffff,00000000,00000000"),
    ],
)
def test_masks_are_as_the_kernels_cpumap(cpus: tuple[int, ...], mask: str) -> None:
    plan = a800_two_gpus()
    cell = msgspec.structs.replace(plan.cells[0], vcpus=list(cpus))

    root = read_of(msgspec.structs.replace(plan, cells=[cell]))

    assert root.children[0].attributes["affinity"] == mask


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["gpu9=05:00.0"], "'gpu9': the plan has no such function"),
        (["gpu0=5"], "not a PCI address"),
        (["gpu0=05:00.0", "gpu0=06:00.0"], "two addresses"),
        (["gpu0=0000:24:00.0"], "of both gpu0 and gpu1|of both gpu1 and gpu0"),
    ],
)
def test_addresses_that_cannot_be_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        parse_addresses(texts, a800_two_gpus())


@pytest.mark.parametrize("text", ["", "Intel", "GenuineIntel:6", 'arm64"', "GenuineIntel:x:1"])
def test_a_cpu_that_nccl_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="no CPU that NCCL tells apart"):
        parse_cpu(text)


def test_what_nccl_would_not_read_is_refused() -> None:
    plan = a800_two_gpus()
    wide = msgspec.structs.replace(plan.cells[0], vcpus=[1000])
    cells = [msgspec.structs.replace(plan.cells[0], cell=each) for each in range(260)]

    with pytest.raises(BadInputError, match="affinity of a cpu: 287 characters"):
        text_of(msgspec.structs.replace(plan, cells=[wide]))
    with pytest.raises(BadInputError, match="266 elements, and NCCL reads 255"):
        text_of(msgspec.structs.replace(plan, cells=cells))
    with pytest.raises(BadInputError, match=r"class of a pci: .* is no plain text"):
        text_of(_with(plan, "gpu0", class_code='0x03"/>'))
