"""Expected: VFIO maps BARs of a VM's own functions for it, and of no others (vfio_pci_core.c)."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from trees.function import ACS_CAPABLE, downstream_port, gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, opened
from tune.paths_hosts import pair, undescribed

from pcietune.address import PciAddress
from pcietune.model.packet import AddressSpace
from pcietune.model.profile import ModeName
from pcietune.model.trace import Outcome
from pcietune.report.paths_summary import summary_lines
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.bandwidth import BandwidthOf
from pcietune.tune.paths.means import Means
from pcietune.tune.paths.pairs import PLAIN_LOOK, Look
from pcietune.tune.paths.transport import transports
from pcietune.tune.paths.view import Pair

TOP = "0000:21:00.0"
ATS_ON = (0x0020, 0x8000)
HOST_AND_VM = [("vfio-pci", None), (None, "vfio-pci"), ("mlx5_core", "vfio-pci")]


def _host(
    root: Path,
    nics: str | None = "vfio-pci",
    gpus: str | None = "vfio-pci",
    acs: tuple[int, int] | None = (ACS_CAPABLE, 0x001D),
) -> TreeHost:
    return one_switch(
        root,
        instead=[
            downstream_port(NIC_PORT, below=TOP, acs=acs),
            nic(NIC, below=NIC_PORT, driver=nics, ats=ATS_ON),
            gpu(GPU, below=GPU_PORT, driver=gpus),
        ],
    )


def _users(*vms: str) -> Look:
    addresses = map(PciAddress.parse, (NIC, GPU))
    return Look(users=dict(zip(addresses, vms, strict=False)))


def _pair(tree: TreeHost, look: Look = PLAIN_LOOK) -> Pair:
    return pair(undescribed(tree, look), NIC, GPU)


def _told(notes: Iterable[str], word: str) -> list[str]:
    return [note for note in notes if word in note]


@pytest.mark.parametrize(("nics", "gpus"), HOST_AND_VM)
def test_what_a_vm_has_and_what_the_host_has_move_nothing_between_them(
    tmp_path: Path, nics: str | None, gpus: str | None
) -> None:
    tree = _host(tmp_path, nics, gpus)
    view = undescribed(tree)
    found = pair(view, NIC, GPU)
    (moved_by,) = transports(opened(tree), view).values()

    assert moved_by.means is Means.NONE
    assert found.apart is not None
    assert {NIC, GPU} <= set(found.apart.replace(",", "").split())
    assert found.cures is not None
    assert [(cure.changes, cure.obstacle is None) for cure in found.cures] == [((), False)] * 2
    assert _told(found.notes, "--mode vm")


def test_a_vm_does_not_reach_what_the_host_has_even_by_direct_trans(tmp_path: Path) -> None:
    found = _pair(_host(tmp_path, gpus=None, acs=(ACS_CAPABLE, 0x005D)))

    assert found.now.forth.write.outcome is Outcome.BLOCKED


def test_functions_of_two_vms_move_nothing_between_them(tmp_path: Path) -> None:
    found = _pair(_host(tmp_path), _users("qemu (pid 1)", "qemu (pid 2)"))

    assert found.apart == (
        f"the two belong to different owners: {NIC} to qemu (pid 1), and {GPU} to qemu (pid 2)"
    )
    assert found.cures is not None
    assert [cure.changes for cure in found.cures] == [(), ()]
    assert found.cures[0].obstacle == found.apart
    outcomes = {found.now.forth.write.outcome, found.now.back.write.outcome}
    assert outcomes == {Outcome.BLOCKED}
    assert _told(found.notes, "different owners") == [
        f"{found.apart}: no VM's domain maps the other's BAR"
    ]


@pytest.mark.parametrize("vms", [(), ("1",), ("1", "1")])
def test_one_vms_and_those_of_which_it_is_not_known_are_not_apart(
    tmp_path: Path, vms: tuple[str, ...]
) -> None:
    assert _pair(_host(tmp_path), _users(*vms)).apart is None


def test_with_a_mode_both_are_looked_at_as_one_vm_has_them(tmp_path: Path) -> None:
    assert _pair(_host(tmp_path, gpus=None), Look(ModeName.VM)).apart is None


def test_the_hosts_own_are_not_apart(tmp_path: Path) -> None:
    assert _pair(_host(tmp_path, "mlx5_core", "nvidia")).apart is None


def test_nobody_is_sent_to_a_pair_that_nothing_makes_direct(tmp_path: Path) -> None:
    tree = _host(tmp_path, gpus=None)
    host, view = opened(tree), undescribed(tree)
    fabric = survey(host, lambda functions: functions)
    lines = summary_lines(view, BandwidthOf(host, fabric, view.peers))

    assert not [line for line in lines if line.startswith("next")]


@pytest.mark.parametrize(
    ("acs", "why"),
    [((ACS_CAPABLE, 0x0051), "ReqRedir-"), ((ACS_CAPABLE, 0x0011), "ReqRedir-"), (None, "ACS")],
)
def test_direct_is_told_with_what_goes_astray_untranslated(
    tmp_path: Path, acs: tuple[int, int] | None, why: str
) -> None:
    view = undescribed(_host(tmp_path, acs=acs))
    found = pair(view, NIC, GPU)

    assert found.now.forth.write.outcome is Outcome.DIRECT
    for notes in (found.notes, view.notes):
        (note,) = _told(notes, "untranslated")
        assert note.startswith(f"what {NIC} sends untranslated")
        assert f"MISROUTED at {NIC_PORT}: " in note
        assert why in note
        assert "pcietune paths --isolation" in note


def test_where_redirection_is_on_nothing_goes_astray(tmp_path: Path) -> None:
    view = undescribed(_host(tmp_path, acs=(ACS_CAPABLE, 0x005D)))

    assert not _told((*view.notes, *pair(view, NIC, GPU).notes), "untranslated")


def test_vfio_without_an_iommu_sends_addresses_of_the_host(tmp_path: Path) -> None:
    tree = _host(tmp_path)
    for group in (4, 5):
        tree.put(f"sys/kernel/iommu_groups/{group}/name", "vfio-noiommu")
    found = _pair(tree)

    assert found.now.forth.sender.address is AddressSpace.PHYSICAL
    assert (found.now.forth.write.iommu, found.now.forth.write.packet.translated) == (False, False)
