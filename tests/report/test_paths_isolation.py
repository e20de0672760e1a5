from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import ACS_CAPABLE, Function, downstream_port, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, NIC, NIC_PORT, opened

from pcietune.address import PciAddress
from pcietune.model.settings import Tenancy
from pcietune.report.paths_isolation import (
    IsolationDocument,
    isolation_document,
    isolation_lines,
)
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.isolation import Isolation, Known, view_isolation

VFS = 3
OPEN = (ACS_CAPABLE, 0)
DIRECT = (ACS_CAPABLE, 0x005D)
NOBODY_PARTS = (
    "only by a lie, requests marked as translated that no IOMMU ever saw, do these reach others; "
    "where their ATS is on, the root complex believes them, too, about all of the host's memory"
)


def _view(tree: TreeHost, *, trusted: bool = False, vm: str | None = None) -> Isolation:
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    nic, gpu = PciAddress.parse(NIC), PciAddress.parse(GPU)
    users = {} if vm is None else {nic: vm, gpu: "qemu (pid 1)"}
    believed = frozenset({nic} if trusted else ())
    return view_isolation(host, fabric, [nic, gpu], Known(believed, users))


def _lines(tree: TreeHost, *, trusted: bool = False, vm: str | None = None) -> list[str]:
    return list(isolation_lines(_view(tree, trusted=trusted, vm=vm), []))


def _host(root: Path, acs: tuple[int, int], *, vfs: int = 0, iommu: bool = True) -> TreeHost:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=acs)
    tree = one_switch(root, iommu=iommu, instead=[port])
    virtual = Function(
        "", ConfigBuilder("ffff:ffff", 0x020700).express(ENDPOINT), NIC_PORT, physical_function=NIC
    )
    for number in range(1, 1 + vfs):
        tree.add(replace(virtual, address=f"0000:24:00.{number}", group=10 + number))
    return tree


def test_who_reaches_whom_is_told_with_the_bit_and_virtual_functions_folded(
    tmp_path: Path,
) -> None:
    assert _lines(_host(tmp_path, OPEN, vfs=VFS)) == [
        f"NOT APART  {NIC_PORT}: ReqRedir-; their IOMMU groups say that they are apart",
        f"    {NIC}  15b3:101b  Infiniband controller  and 3 VFs of it  4 groups, 5 to 13",
        "  reach",
        f"    {GPU}  10de:20f3  3D controller  group 4",
        "5 functions looked at: not all of them are apart",
    ]


def test_vms_are_named(tmp_path: Path) -> None:
    lines = _lines(_host(tmp_path, OPEN), vm="qemu (pid 2)")

    assert lines[0].endswith("these are different VMs'")
    assert lines[1].endswith("group 5  VM qemu (pid 2)")
    assert lines[2] == "  reaches"


@pytest.mark.parametrize(
    ("trusted", "said"), [(True, "trusted"), (False, "NOT TRUSTED by the profile")]
)
def test_a_lie_is_told_apart_with_whether_a_function_is_trusted(
    tmp_path: Path, *, trusted: bool, said: str
) -> None:
    lines = _lines(_host(tmp_path, DIRECT), trusted=trusted)

    assert lines == [
        NOBODY_PARTS,
        "  all of them are one tenant's, as the settings have it (tenancy: single)",
        f"  {NIC_PORT}: DirectTrans+; their IOMMU groups say that they are apart",
        f"      {NIC}  15b3:101b  Infiniband controller  group 5  {said}",
        "    reaches",
        f"      {GPU}  10de:20f3  3D controller  group 4",
        (
            "2 functions looked at: requests of all go through the IOMMU, and no function reaches "
            "another of another IOMMU group without it, unless it lies"
        ),
    ]


def test_tenants_that_share_a_switch_are_called_out(tmp_path: Path) -> None:
    view = replace(_view(_host(tmp_path, DIRECT)), tenancy=Tenancy.SHARED)

    assert list(isolation_lines(view, []))[1].strip().startswith("NOT all of them are one tenant's")


def test_what_could_not_be_read_is_never_said_to_be_apart(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)
    lines = _lines(tree)

    assert lines[0].startswith(f"not known  {NIC_PORT}: ACS could not be read")
    assert lines[-1] == "2 functions looked at: whether all of them are apart is not known"


def test_without_an_iommu_nothing_is_apart(tmp_path: Path) -> None:
    lines = _lines(_host(tmp_path, (ACS_CAPABLE, 0x001D), iommu=False))

    assert lines == [
        "NOT APART  no IOMMU is on: every function reaches all of memory and all others",
        "2 functions looked at: not all of them are apart",
    ]


def test_warnings_come_first(tmp_path: Path) -> None:
    view = _view(_host(tmp_path, OPEN))

    assert next(isolation_lines(view, ["x"])) == "NOT as it seems: x"


def test_the_document_says_the_same(tmp_path: Path) -> None:
    view = _view(_host(tmp_path, OPEN, vfs=VFS))
    read = msgspec.json.decode(isolation_document(view, ["x"]), type=IsolationDocument)

    assert (read.schema, read.iommu, read.functions, read.warnings) == (1, True, 5, ["x"])
    (reach,) = read.reaches
    assert [(port.address, port.path) for port in reach.ports] == [
        (NIC_PORT, "0000:20:01.0/00.0/04.0")
    ]
    assert (reach.reason, reach.apart_by) == ("ReqRedir-", "different IOMMU groups")
    (sender,) = reach.senders
    assert (sender.address, sender.itself, sender.virtual_functions) == (NIC, True, VFS)
    assert sender.groups == [5, 11, 12, 13]
    assert (read.lies, read.not_known, read.problems) == ([], [], [])


def _separate(root: Path, kind: str | None, name: str | None = None) -> TreeHost:
    """Return a host of one switch whose GPU and NIC have groups of this type and name."""
    tree = one_switch(root, driver="vfio-pci" if name else None)
    for group in (4, 5):
        if kind is None:
            (root / f"sys/kernel/iommu_groups/{group}/type").unlink()
        else:
            tree.group_type(group, kind)
        if name is not None:
            tree.put(f"sys/kernel/iommu_groups/{group}/name", name)
    return tree


def test_groups_that_vfio_makes_without_an_iommu_keep_nothing_apart(tmp_path: Path) -> None:
    lines = _lines(_separate(tmp_path, "unknown", "vfio-noiommu"))

    assert lines[0].startswith("NOT APART  no IOMMU is on")
    assert lines[-1] == "2 functions looked at: not all of them are apart"


def test_what_has_an_identity_domain_reaches_all_memory_by_design(tmp_path: Path) -> None:
    lines = _lines(_separate(tmp_path, "identity"))

    assert lines[0].endswith("these reach all memory by design")
    assert [line.strip() for line in lines[1:3]] == [GPU, NIC]
    assert "requests of all go through the IOMMU" not in lines[-1]
    assert lines[-1].endswith("lets those with identity domains reach all of memory")


@pytest.mark.parametrize("kind", [None, "unknown"])
def test_a_domain_that_is_not_known_is_never_said_to_keep_apart(
    tmp_path: Path, kind: str | None
) -> None:
    assert _lines(_separate(tmp_path, kind))[-1].endswith("is not known")


def test_a_dump_without_groups_does_not_tell_whether_all_are_apart(tmp_path: Path) -> None:
    view = replace(_view(one_switch(tmp_path)), iommu=None)

    assert list(isolation_lines(view, []))[-1].endswith("is not known")


def test_of_nothing_nothing_is_said(tmp_path: Path) -> None:
    host = opened(TreeHost(tmp_path))
    view = view_isolation(host, survey(host, lambda functions: functions), [])

    (last,) = list(isolation_lines(replace(view, iommu=True), []))
    assert last == "0 functions looked at: nothing is said of how far any are apart"


def test_where_a_lie_reaches_the_last_line_says_so(tmp_path: Path) -> None:
    assert _lines(_host(tmp_path, DIRECT))[-1].endswith("without it, unless it lies")


def test_a_root_port_is_told_with_the_rule_that_it_breaks(tmp_path: Path) -> None:
    port = root_port("0000:20:01.0", acs=(ACS_CAPABLE, 0x000D))
    lines = _lines(one_switch(tmp_path, instead=[port]))

    assert lines[0].startswith("NOT APART  0000:20:01.0: UpstreamFwd-")
    assert "an IOMMU that translates before a root port decodes" in lines[4]


def test_the_document_names_what_no_iommu_translates(tmp_path: Path) -> None:
    view = _view(_separate(tmp_path, "identity"))
    document = msgspec.json.decode(isolation_document(view, []), type=IsolationDocument)

    assert document.untranslated == {"identity": [GPU, NIC]}
    assert document.summary == list(isolation_lines(view, []))[-1]
