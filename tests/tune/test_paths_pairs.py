from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import cascade
from trees.function import downstream_port, gpu, nic, root_port
from trees.machines import one_switch
from tune.ats_hosts import OFF
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT
from tune.paths_hosts import pair, undescribed, viewed
from tune.profiles import NIC_ROLE, with_roles

from pcietune.address import PciAddress
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.trace import Outcome
from pcietune.tune.paths.pairs import Look

UP = "0000:21:00.0"


def test_in_a_vm_the_nics_writes_are_direct_once_the_profile_holds(tmp_path: Path) -> None:
    found = pair(viewed(one_switch(tmp_path), ModeName.VM), NIC, GPU)

    assert found.now.forth.write.outcome is Outcome.VIA_ROOT_COMPLEX
    assert str(found.now.forth.write.at and found.now.forth.write.at.address) == NIC_PORT
    assert found.once is not None
    assert found.once.forth.write.outcome is Outcome.DIRECT
    assert found.once.back.write.outcome is Outcome.VIA_ROOT_COMPLEX  # the GPU has no ATS


def test_direct_translated_p2p_with_ats_is_direct_already(tmp_path: Path) -> None:
    opened = downstream_port(NIC_PORT, below=UP, acs=(0x5F, 0x5D))
    found = pair(viewed(one_switch(tmp_path, instead=[opened]), ModeName.VM), NIC, GPU)

    assert found.now.forth.write.outcome is Outcome.DIRECT
    assert found.now.forth.completion.outcome is Outcome.VIA_ROOT_COMPLEX  # CmpltRedir
    assert found.now.forth.relaxed is not None
    assert found.now.forth.relaxed.outcome is Outcome.DIRECT


def test_a_nic_without_ats_in_its_firmware_could_be_direct(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, ats=None)])
    found = pair(viewed(tree, ModeName.VM), NIC, GPU)

    assert found.once is not None
    assert found.once.forth.write.outcome is Outcome.DIRECT


def test_a_port_that_does_not_implement_directtrans_stays_as_it_is(tmp_path: Path) -> None:
    without = downstream_port(NIC_PORT, below=UP, acs=(0x1F, 0x1D))
    found = pair(viewed(one_switch(tmp_path, instead=[without]), ModeName.VM), NIC, GPU)

    assert found.once is not None
    assert found.once.forth.write.outcome is Outcome.VIA_ROOT_COMPLEX


def test_on_bare_metal_all_is_direct_once_the_profile_holds(tmp_path: Path) -> None:
    view = viewed(cascade(tmp_path), ModeName.BAREMETAL)

    for found in view.pairs.values():
        assert found.now.forth.write.outcome is Outcome.VIA_ROOT_COMPLEX
        assert found.once is not None
        for flow in (found.once.forth, found.once.back):
            assert flow.write.outcome is flow.completion.outcome is Outcome.DIRECT


def test_without_a_mode_nothing_is_said_of_once(tmp_path: Path) -> None:
    view = viewed(one_switch(tmp_path))

    assert view.mode is None
    assert pair(view, NIC, GPU).once is None


def test_a_mode_without_a_profile_looks_at_gpus_and_nics_as_vms_have_them(tmp_path: Path) -> None:
    view = undescribed(one_switch(tmp_path), Look(ModeName.VM))

    assert pair(view, NIC, GPU).now.forth.sender.address == "guest physical"


def test_a_guests_requests_are_misrouted_where_nothing_redirects(tmp_path: Path) -> None:
    ports = [downstream_port(a, below=UP, acs=(0x5F, 0)) for a in (GPU_PORT, NIC_PORT)]
    instead = [*ports, root_port("0000:20:01.0", acs=(0x5F, 0))]
    view = viewed(one_switch(tmp_path, instead=instead), ModeName.VM)

    assert pair(view, NIC, GPU).now.back.write.outcome is Outcome.MISROUTED


def test_a_vm_by_iommufd_before_linux_7_reaches_no_peer(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    view = undescribed(tree, Look(mapped={PciAddress.parse(NIC): False}))

    assert pair(view, NIC, GPU).now.forth.write.outcome is Outcome.BLOCKED


@pytest.mark.parametrize("mode", [None, ModeName.VM, ModeName.BAREMETAL])
def test_a_port_that_cannot_be_read_leaves_the_way_unknown_and_is_told(
    tmp_path: Path, mode: ModeName | None
) -> None:
    tree = one_switch(tmp_path)
    config = tree.config(NIC_PORT)
    config.write_bytes(config.read_bytes()[:256])

    view = viewed(tree, mode)

    assert pair(view, NIC, GPU).now.forth.write.outcome is Outcome.UNKNOWN
    assert any(NIC_PORT in str(problem) for problem in view.problems)


def test_a_gpu_with_ats_is_direct_both_ways_once_its_port_is_open(tmp_path: Path) -> None:
    able = gpu(GPU, below=GPU_PORT)
    able.config.ats(*OFF)
    ports = [downstream_port(a, below=UP, acs=(0x5F, 0x5D)) for a in (GPU_PORT, NIC_PORT)]
    tree = one_switch(tmp_path, instead=[replace(able), *ports])
    tree.group_type(4, "identity")

    assert pair(viewed(tree, ModeName.VM), NIC, GPU).now.back.write.outcome is Outcome.DIRECT


def test_directtrans_is_not_counted_on_where_the_profile_trusts_no_nic_with_it(
    tmp_path: Path,
) -> None:
    profile = with_roles({RoleName.NIC: replace(NIC_ROLE, trusted=False)})
    found = pair(viewed(one_switch(tmp_path), ModeName.VM, profile=profile), NIC, GPU)

    assert found.once is not None
    assert found.once.forth.write.outcome is Outcome.VIA_ROOT_COMPLEX
