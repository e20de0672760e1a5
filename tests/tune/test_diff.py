"""What differs between two hosts: each fact by itself, and nothing else with it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from trees.acpi import ATSR, dmar, put_table, scope, structure
from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import one_switch_functions
from trees.express import Express
from trees.fabrics import cascade, two_switches
from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.diffed import Told, diff, routes, side, told
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT

from pcietune.model.profile import ModeName
from pcietune.tune.diff.compare import compare
from pcietune.tune.diff.difference import Diff
from pcietune.tune.diff.fact import Kind

SWITCH = "0000:21:00.0"
TUNED = downstream_port(NIC_PORT, below=SWITCH, acs=(0x005F, 0x005D))
DEAF_NIC = nic(NIC, below=NIC_PORT, ats=(0x0020, 0x0000))

Make = Callable[[Path], TreeHost]


def _with(*instead: Function) -> Make:
    return lambda root: one_switch(root, instead=instead)


def _and(path: str, text: str) -> Make:
    def make(root: Path) -> TreeHost:
        tree = one_switch(root)
        tree.put(path, text)
        return tree

    return make


def _attribute(address: str, name: str, text: str) -> Make:
    def make(root: Path) -> TreeHost:
        tree = one_switch(root)
        (tree.directory(address) / name).write_text(f"{text}\n")
        return tree

    return make


def _sriov_nic(enabled: int) -> Function:
    found = nic(NIC, below=NIC_PORT)
    config = ConfigBuilder("15b3:101b", 0x020700, subsystem="15b3:0007").express(ENDPOINT)
    config.ats(0x0020, 0x8000).sriov(total=16, enabled=enabled, vf_device=0x101C)
    return replace(found, config=config)


def _with_vfs(enabled: int) -> Make:
    def make(root: Path) -> TreeHost:
        tree = one_switch(root, instead=[_sriov_nic(enabled)])
        for index in range(1, enabled + 1):
            vf = ConfigBuilder("15b3:101c", 0x020700).express(ENDPOINT).ats(0x0020, 0x0000)
            tree.add(Function(f"0000:24:00.{index}", vf, NIC_PORT, physical_function=NIC))
        return tree

    return make


def _with_dmar(bus: int) -> Make:
    """Return what makes a host whose firmware allows ATS below one root port."""

    def make(root: Path) -> TreeHost:
        tree = one_switch(root)
        put_table(tree, dmar(structure(ATSR, scope(bus, ((1, 0),)))))
        return tree

    return make


def _without_iommu(root: Path) -> TreeHost:
    return one_switch(root, iommu=False)


def _one_group(root: Path) -> TreeHost:
    tree = one_switch(root)
    into_group(tree, NIC, 4)
    return tree


def _no_gpu(root: Path) -> TreeHost:
    tree = TreeHost(root)
    tree.intel_iommu("dmar0")
    functions = (
        root_port("0000:20:01.0"),
        upstream_port(SWITCH, below="0000:20:01.0"),
        downstream_port(GPU_PORT, below=SWITCH),
        downstream_port(NIC_PORT, below=SWITCH),
        nic(NIC, below=NIC_PORT),
    )
    numbers = (0, 1, 2, 3, 5)
    for number, function in zip(numbers, functions, strict=True):
        tree.add(replace(function, group=number, iommu="dmar0"))
    return tree


OTHER_GPU = replace(
    gpu(GPU, below=GPU_PORT),
    config=ConfigBuilder("10de:20b5", 0x030200, subsystem="10de:179b").express(ENDPOINT),
)
CASES: dict[str, tuple[Make, Make, set[Told]]] = {
    "an ACS bit": (
        one_switch,
        _with(TUNED),
        {(NIC_PORT, "acs", "DirectTrans", "DirectTrans-", "DirectTrans+")},
    ),
    "two ACS bits": (
        one_switch,
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=(0x005F, 0x0011))),
        {
            (GPU_PORT, "acs", "ReqRedir", "ReqRedir+", "ReqRedir-"),
            (GPU_PORT, "acs", "CmpltRedir", "CmpltRedir+", "CmpltRedir-"),
        },
    ),
    "what ACS offers": (
        one_switch,
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=(0x001F, 0x001D))),
        {
            (
                GPU_PORT, "acs", "ACS capability",
                "0x005f (SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd DirectTrans)",
                "0x001f (SrcValid TransBlk ReqRedir CmpltRedir UpstreamFwd)",
            )
        },
    ),
    "no ACS at all": (
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=(0x0001, 0x0001))),
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=None)),
        {(GPU_PORT, "acs", "ACS capability", "0x0001 (SrcValid)", None)},
    ),
    "ACS Enhanced": (
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=(0x00DF, 0x001D))),
        _with(downstream_port(GPU_PORT, below=SWITCH, acs=(0x00DF, 0x101D))),
        {(GPU_PORT, "acs", "ACSCtl bits 12:7", "0x0000", "0x1000")},
    ),
    "ATS Enable": (
        one_switch,
        _with(DEAF_NIC),
        {(NIC, "ats", "ATS Enable", "ATS Enable+", "ATS Enable-")},
    ),
    "the ATS capability": (
        one_switch,
        _with(nic(NIC, below=NIC_PORT, ats=None)),
        {(NIC, "ats", "ATS capability", "0x0020", None)},
    ),
    "the smallest translation unit": (
        one_switch,
        _with(nic(NIC, below=NIC_PORT, ats=(0x0020, 0x8001))),
        {(NIC, "ats", "Smallest Translation Unit", "4096 bytes", "8192 bytes")},
    ),
    "a driver": (
        _with(gpu(GPU, below=GPU_PORT, driver="nvidia")),
        _with(gpu(GPU, below=GPU_PORT, driver=None)),
        {(GPU, "driver", "driver", "nvidia", None)},
    ),
    "a link's width": (
        one_switch,
        _attribute(GPU, "current_link_width", "8"),
        {(GPU, "link", "width", "x16", "x8")},
    ),
    "a link's speed": (
        one_switch,
        _attribute(NIC, "current_link_speed", "8.0 GT/s PCIe"),
        {(NIC, "link", "speed", "16.0 GT/s", "8.0 GT/s")},
    ),
    "a NUMA node": (
        one_switch,
        _attribute(NIC, "numa_node", "-1"),
        {(NIC, "numa", "NUMA node", "0", None)},
    ),
    "who shares a group": (
        one_switch,
        _one_group,
        {
            (GPU, "group", "IOMMU group", "alone", f"together: {GPU} {NIC}"),
            (NIC, "group", "IOMMU group", "alone", f"together: {GPU} {NIC}"),
        },
    ),
    "a group's type": (
        one_switch,
        _and("sys/kernel/iommu_groups/4/type", "identity"),
        {(GPU, "group", "group type", "DMA-FQ", "identity")},
    ),
    "no IOMMU": (
        one_switch,
        _without_iommu,
        {
            ("dmar0", "iommu", "IOMMU unit", "there", None),
            *(
                (address, "group", "IOMMU group", "alone", "no group")
                for address in ("0000:20:01.0", SWITCH, GPU_PORT, NIC_PORT, GPU, NIC)
            ),
        },
    ),
    "an IOMMU unit's device TLB": (
        one_switch,
        _and("sys/devices/virtual/iommu/dmar0/intel-iommu/ecap", "f050da"),
        {("dmar0", "iommu", "device TLB", "yes", "no")},
    ),
    "Relaxed Ordering and payload": (
        one_switch,
        _with(nic(NIC, below=NIC_PORT, express=Express(relaxed_ordering=False, payload=0))),
        {
            (NIC, "device-control", "RlxdOrd", "RlxdOrd+", "RlxdOrd-"),
            (NIC, "device-control", "MaxPayload", "256 bytes", "128 bytes"),
        },
    ),
    "virtual functions, told once and not each": (
        _with_vfs(0),
        _with_vfs(4),
        {(NIC, "sriov", "VFs", "0", "4")},
    ),
    "a function that is gone": (
        one_switch,
        _no_gpu,
        {(GPU, "function", "presence", "10de:20f3 class 0302", None)},
    ),
    "another part at the same place": (
        one_switch,
        _with(OTHER_GPU),
        {(GPU, "function", "id", "10de:20f3", "10de:20b5")},
    ),
    "the firmware's leave for ATS": (
        _with_dmar(0x20),
        _with_dmar(0x40),
        {("0000:20:01.0", "firmware", "ATS below, by the table DMAR", "allowed", "not allowed")},
    ),
    "the kernel": (
        one_switch,
        _and("proc/sys/kernel/osrelease", "6.1.0-13-amd64"),
        {("host", "kernel", "kernel", "6.12.0-amd64", "6.1.0-13-amd64")},
    ),
    "words of the command line, and no disk": (
        _and("proc/cmdline", "BOOT_IMAGE=/a root=UUID=1 ro iommu=pt pci=realloc pci=noats quiet"),
        _and("proc/cmdline", "root=UUID=2 ro intel_iommu=on quiet pci=realloc"),
        {
            ("host", "command-line", "iommu", "iommu=pt", None),
            ("host", "command-line", "intel_iommu", None, "intel_iommu=on"),
            ("host", "command-line", "pci", "pci=realloc pci=noats", "pci=realloc"),
        },
    ),
    "the firmware": (
        one_switch,
        _and("sys/devices/virtual/dmi/id/bios_version", "2.2"),
        {("host", "firmware", "bios_version", "2.1", "2.2")},
    ),
    "the boot, and nothing that tells one host of a kind from another": (
        one_switch,
        _and("proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000"),
        set(),
    ),
    "serial numbers alone": (
        one_switch,
        _and("sys/devices/virtual/dmi/id/product_serial", "ANOTHER"),
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES)
def test_a_difference_is_told_by_name_and_nothing_else_is(
    tmp_path: Path, before: Make, after: Make, expected: set[Told]
) -> None:
    found = diff(before(tmp_path / "a"), after(tmp_path / "b"))

    assert told(found) == expected


@pytest.mark.parametrize(("before", "after", "_"), CASES.values(), ids=CASES)
def test_the_other_way_round_the_same_differs_with_its_sides_swapped(
    tmp_path: Path, before: Make, after: Make, _: set[Told]
) -> None:
    one, other = before(tmp_path / "a"), after(tmp_path / "b")

    forth, back = diff(one, other), diff(other, one)

    assert _swapped(back) == _plain(forth)
    assert (forth.compared, forth.routes) == (back.compared, back.routes)


def _plain(found: Diff) -> set[tuple[object, ...]]:
    return {
        (each.subject.before, each.subject.after, each.subject.to and each.subject.to.before,
         each.change.kind, each.change.name, each.change.before, each.change.after)
        for each in found.differences
    }  # fmt: skip


def _swapped(found: Diff) -> set[tuple[object, ...]]:
    return {
        (each.subject.after, each.subject.before, each.subject.to and each.subject.to.after,
         each.change.kind, each.change.name, each.change.after, each.change.before)
        for each in found.differences
    }  # fmt: skip


@pytest.mark.parametrize("make", [one_switch, two_switches, cascade, _without_iommu, _with_vfs(4)])
def test_a_host_does_not_differ_from_itself(tmp_path: Path, make: Make) -> None:
    tree = make(tmp_path)

    for mode in (None, *ModeName):
        found = diff(tree, tree, mode=mode)
        assert found.differences == ()
        assert found.moved == ()
        assert found.compared == len(list((tmp_path / "sys/bus/pci/devices").iterdir()))


def _renumbered(root: Path) -> TreeHost:
    """Return ``one_switch`` with the numbers of all buses below the root port one higher."""
    tree = TreeHost(root)
    tree.intel_iommu("dmar0")
    functions = (
        root_port("0000:20:01.0"),
        upstream_port("0000:22:00.0", below="0000:20:01.0"),
        downstream_port("0000:23:00.0", below="0000:22:00.0"),
        downstream_port("0000:23:04.0", below="0000:22:00.0"),
        gpu("0000:24:00.0", below="0000:23:00.0"),
        nic("0000:25:00.0", below="0000:23:04.0"),
    )
    for number, function in enumerate(functions):
        tree.add(replace(function, group=number + 7, iommu="dmar0"))
    return tree


def test_other_bus_and_group_numbers_are_no_difference_and_are_told(tmp_path: Path) -> None:
    found = diff(one_switch(tmp_path / "a"), _renumbered(tmp_path / "b"))

    assert found.differences == ()
    assert [(str(each.before), str(each.after)) for each in found.moved] == [
        (SWITCH, "0000:22:00.0"),
        (GPU_PORT, "0000:23:00.0"),
        (NIC_PORT, "0000:23:04.0"),
        (GPU, "0000:24:00.0"),
        (NIC, "0000:25:00.0"),
    ]


def test_a_function_reached_by_another_way_is_the_same_and_its_place_differs(
    tmp_path: Path,
) -> None:
    moved = replace(nic(NIC, below=GPU_PORT), group=5, iommu="dmar0")
    before, after = one_switch(tmp_path / "a"), _no_gpu(tmp_path / "b")
    after_directory = after.directory(NIC)
    for link in (tmp_path / "b/sys/bus/pci/devices" / NIC, after_directory):
        assert link.exists()
    (tmp_path / "b/sys/bus/pci/devices" / NIC).unlink()
    (tmp_path / "b/sys/kernel/iommu_groups/5/devices" / NIC).unlink()
    after.add(moved)

    found = told(diff(before, after))

    assert (
        NIC, "function", "location",
        "0000:20:01.0/00.0/04.0/00.0", "0000:20:01.0/00.0/00.0/00.0",
    ) in found  # fmt: skip
    assert not [each for each in found if each[0] == NIC and each[2] == "presence"]


def test_a_vf_that_its_pf_counts_the_same_is_told_itself(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "b", instead=[_sriov_nic(1)])
    vf = ConfigBuilder("15b3:101c", 0x020700).express(ENDPOINT)
    tree.add(Function("0000:24:00.2", vf, NIC_PORT, physical_function=NIC))

    found = told(diff(_with_vfs(1)(tmp_path / "a"), tree))

    assert {each[:3] for each in found} == {
        ("0000:24:00.1", "function", "presence"),
        ("0000:24:00.2", "function", "presence"),
    }


def test_the_vfs_of_a_pf_that_is_gone_need_no_word_of_their_own(tmp_path: Path) -> None:
    after = TreeHost(tmp_path / "b")
    after.intel_iommu("dmar0")
    after.add(*one_switch_functions()[:-1])

    found = told(diff(_with_vfs(2)(tmp_path / "a"), after))

    gone = {each[0] for each in found if each[2] == "presence"}
    assert gone == {NIC}


def test_a_link_is_told_once_at_its_lower_end(tmp_path: Path) -> None:
    after = one_switch(tmp_path / "b")
    for address in (GPU, GPU_PORT):
        (after.directory(address) / "current_link_width").write_text("8\n")

    found = told(diff(one_switch(tmp_path / "a"), after))

    assert found == {(GPU, "link", "width", "x16", "x8")}


def test_routes_that_change_are_told_with_the_bit_that_decides(tmp_path: Path) -> None:
    found = diff(one_switch(tmp_path / "a"), one_switch(tmp_path / "b", instead=[TUNED]))

    by = f"{NIC_PORT} DirectTrans- -> DirectTrans+"
    assert routes(found) == {
        (f"{NIC} {GPU}", "write", "via root complex", "direct", by),
        (f"{NIC} {GPU}", "read request", "via root complex", "direct", by),
    }
    assert found.routes == 2


def test_routes_that_change_by_the_senders_ats_name_it(tmp_path: Path) -> None:
    before = one_switch(tmp_path / "a", instead=[TUNED])
    after = one_switch(tmp_path / "b", instead=[TUNED, DEAF_NIC])

    found = diff(before, after)

    by = f"{NIC} ATS Enable+ -> ATS Enable-"
    assert (f"{NIC} {GPU}", "write", "direct", "via root complex", by) in routes(found)


def test_differences_are_in_the_order_of_places_and_the_hosts_come_first(tmp_path: Path) -> None:
    after = two_switches(
        tmp_path / "b",
        instead=[
            downstream_port("0000:42:04.0", below="0000:41:00.0", acs=(0x005F, 0x005D)),
            downstream_port("0000:22:08.0", below=SWITCH, acs=(0x005F, 0x0000)),
            nic("0000:24:00.0", below=NIC_PORT, ats=None),
        ],
    )
    after.put("proc/sys/kernel/osrelease", "6.1.0")

    found = diff(two_switches(tmp_path / "a"), after)

    paths = list(dict.fromkeys(each.subject.path for each in found.differences
                               if each.change.kind is not Kind.ROUTE))  # fmt: skip
    assert paths == [
        "host",
        "0000:20:01.0/00.0/04.0/00.0",
        "0000:20:01.0/00.0/08.0",
        "0000:40:01.0/00.0/04.0",
    ]


def test_registers_that_could_not_be_read_are_not_told_and_no_difference(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below=SWITCH)
    cut = replace(port, config=port.config.cut(256))

    after = side(one_switch(tmp_path / "b", instead=[cut]))
    found = compare(side(one_switch(tmp_path / "a")), after)

    assert told(found) == set()
    assert ("ACS capability", False, True) in {
        (each.what.name, each.what.by_before, each.what.by_after) for each in found.not_told
    }
    assert [each for each in after.problems if NIC_PORT in str(each)]


def test_a_function_in_d3cold_is_not_asked_for_its_link(tmp_path: Path) -> None:
    asleep = _attribute(GPU, "power_state", "D3cold")(tmp_path / "b")
    (asleep.directory(GPU) / "current_link_width").write_text("0\n")

    found = diff(one_switch(tmp_path / "a"), asleep)

    assert told(found) == set()
    assert {each.what.kind for each in found.not_told} >= {Kind.LINK, Kind.ACS, Kind.ATS}


@pytest.mark.parametrize("value", ["...", "ttyS0"])
def test_a_value_that_a_recording_keeps_to_itself_is_not_compared(
    tmp_path: Path, value: str
) -> None:
    before = _and("proc/cmdline", f"ro console={value}")(tmp_path / "a")
    after = _and("proc/cmdline", "ro console=...")(tmp_path / "b")

    found = diff(before, after)

    assert found.differences == ()
    assert ("console", value == "...", True) in {
        (each.what.name, each.what.by_before, each.what.by_after) for each in found.not_told
    }
