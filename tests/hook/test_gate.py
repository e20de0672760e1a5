"""What keeps a hook from giving a function to VFIO although the ports above it are as wanted."""

from dataclasses import replace
from pathlib import Path

import pytest
from hook.events import add, leave, stamp
from hook.kernel import kernel_that_binds, with_override
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, downstream_port, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT
from tune.profiles import VM, with_mode

from pcietune.errors import ExitCode
from pcietune.model.profile import Profile
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.vfio import VfioPolicy

BINDING = with_mode(replace(VM, vfio=VfioPolicy(bind=(RoleName.GPU, RoleName.NIC))))
AUDIO, SECOND = "0000:23:00.1", "0000:24:00.1"


def is_kept(tree: TreeHost, address: str, said: str) -> None:
    """Hold that a hook gives VFIO nothing and says why, and that the ports' stamp stands."""
    override = with_override(tree, address)
    probe = tree.put("sys/bus/pci/drivers_probe", "")

    told = add(tree, address)

    assert told.exit_code == ExitCode.DIFFERS
    assert told.stderr.splitlines()[-1] == f"pcietune: {address}, add: {said}"
    assert override.read_text() == "(null)\n"
    assert probe.read_text() == "\n"
    assert stamp(tree, address) is not None


def is_bound(tree: TreeHost, address: str) -> None:
    """Hold that a hook gives a function to VFIO."""
    with_override(tree, address)
    with kernel_that_binds(tree, address, "vfio-pci"):
        told = add(tree, address)
    assert told.exit_code == ExitCode.OK
    assert told.stderr.splitlines()[-1] == f"pcietune: {address} bound to vfio-pci"


def audio(driver: str | None = None) -> Function:
    """Return the audio function of a GPU."""
    config = ConfigBuilder("10de:1aef", 0x040300).express(ENDPOINT)
    return Function(AUDIO, config, below=GPU_PORT, driver=driver, group=40)


def test_another_member_of_its_group_keeps_it_even_without_a_driver(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    config = ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT)
    tree.add(Function("0000:25:00.0", config, below=NIC_PORT, group=5))

    is_kept(tree, NIC, f"the IOMMU group of {NIC} also holds 0000:25:00.0")


def test_the_ports_of_its_group_do_not_keep_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    tree.add(replace(downstream_port("0000:22:05.0", below="0000:21:00.0"), group=4))

    is_bound(tree, GPU)


def test_a_port_of_its_group_that_somebody_drives_keeps_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    port = downstream_port("0000:22:05.0", below="0000:21:00.0")
    tree.add(replace(port, group=4, driver="switchtec"))

    is_kept(tree, GPU, f"the IOMMU group of {GPU} also holds 0000:22:05.0")


def test_what_no_iommu_translates_is_kept(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    (tree.directory(GPU) / "iommu_group").unlink()

    is_kept(tree, GPU, f"no IOMMU translates {GPU}")


@pytest.mark.parametrize("driver", [None, "snd_hda_intel"])
def test_a_function_of_its_slot_that_the_policy_does_not_name_keeps_it(
    tmp_path: Path, driver: str | None
) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    tree.add(audio(driver))

    is_kept(tree, GPU, f"{AUDIO} shares its slot, and is not named for VFIO")


def test_two_ports_of_a_nic_that_the_policy_names_go_each_at_its_event(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(nic(SECOND, below=NIC_PORT), group=41, iommu="dmar0"))
    leave(tree, profile=BINDING)

    is_bound(tree, NIC)


def test_a_driver_of_its_slots_other_function_keeps_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    second = nic(SECOND, below=NIC_PORT, driver="mlx5_core")
    tree.add(replace(second, group=41, iommu="dmar0"))
    leave(tree, profile=BINDING)

    is_kept(tree, NIC, f"{SECOND} shares its slot, and mlx5_core has it")


def test_a_nic_that_came_back_without_ats_is_kept(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree, profile=BINDING)
    tree.config(NIC).write_bytes(nic(NIC, ats=None).config.build())

    is_kept(tree, NIC, f"{NIC} has no ATS capability, as its profile wants")


def test_a_nic_that_came_back_with_ats_is_bound(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, ats=None)])
    leave(tree, profile=BINDING)
    tree.config(NIC).write_bytes(nic(NIC).config.build())

    is_bound(tree, NIC)


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(replace(BINDING, severities={"nic.ats": Severity.WARNING}), id="a warning"),
        pytest.param(with_mode(replace(VM, vfio=VfioPolicy((RoleName.GPU,)))), id="no NIC"),
    ],
)
def test_where_no_ats_is_owed_none_is_looked_for(tmp_path: Path, profile: Profile) -> None:
    tree = one_switch(tmp_path)
    kept = leave(tree, profile=profile)

    assert not any(duty.needs_ats for duty in kept.policy.duties)


def test_what_failed_elsewhere_when_apply_looked_keeps_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tree.root / "sys/devices/virtual/iommu/dmar0/intel-iommu/ecap").write_text("f050da\n")
    leave(tree, profile=BINDING)
    assert list((tree.root / "run/pcietune/bind").iterdir()) == []

    is_kept(tree, GPU, f"{GPU}: iommu.device-tlb failed when apply looked")
