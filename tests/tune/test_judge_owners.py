"""Who else gives functions to VFIO, judged by what systemd and the kernel make of each."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, finding, opened, surveyed
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.owners import Owner, OwnerKind, Owners
from pcietune.model.profile import ModeName
from pcietune.model.protection import Protect, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.vfio import VfioPolicy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.audit.memory import Memory

OTHER_GPU = "0000:65:00.0"
OTHER_AUDIO = "0000:65:00.1"
MODPROBE = "/etc/modprobe.d/vfio.conf"
GPU_ID, NIC_ID = "10de:20f3", "15b3:101b"


def _ids(*ids: str, where: str = MODPROBE) -> Owner:
    return Owner(OwnerKind.MODULE_IDS, where, ids=ids)


def _judged(
    tree: TreeHost,
    *found: Owner,
    mode: ModeName = ModeName.VM,
    bind: tuple[RoleName, ...] = (),
    protect: tuple[Protect, ...] = (),
    not_known: tuple[str, ...] = (),
) -> Audit:
    host = opened(tree)
    yardstick = Yardstick(PROFILE, mode, vfio=VfioPolicy(bind=bind), protect=protect)
    memory = Memory(owners=Owners(found, not_known))
    return audit(host, surveyed(host), yardstick, memory)


def _about_owners(audited: Audit) -> list[Finding]:
    return [f for f in audited.findings if f.id.startswith("owner.")]


def test_nobody_else_is_no_finding(tmp_path: Path) -> None:
    assert _about_owners(_judged(one_switch(tmp_path))) == []


def test_ids_that_fit_nothing_of_the_profile_are_the_sites_own_business(tmp_path: Path) -> None:
    owner = _ids("8086:1572", "15b3:101c", "10de", "10de:zzzz")

    assert _about_owners(_judged(one_switch(tmp_path), owner)) == []


@pytest.mark.parametrize(
    "entry",
    [
        GPU_ID,
        "10de:20f3:10de:179b",
        "10de:20f3:ffffffff:ffffffff:030000:ff0000",
        "ffffffff:ffffffff:ffffffff:ffffffff:030200:ffffff",
    ],
)
def test_ids_in_modprobe_d_cannot_be_ordered(tmp_path: Path, entry: str) -> None:
    found = finding(_judged(one_switch(tmp_path), _ids(entry)), "owner.vfio-ids", "host")

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert found.found.value == entry
    assert MODPROBE in found.found.text
    assert f"vfio-pci takes {GPU} as it loads" in found.reason
    assert found.remedy is not None
    assert found.remedy.kind is RemedyKind.SOFTWARE
    assert found.remedy.command.startswith(f"take ids= out of {MODPROBE} and make the initramfs")


@pytest.mark.parametrize(
    "entry", ["10de:20f3:10de:1463", "10de:20f3:ffffffff:ffffffff:030000:ffff00", "10de:20f4"]
)
def test_an_entry_that_is_narrower_does_not_mean_the_function(tmp_path: Path, entry: str) -> None:
    assert _about_owners(_judged(one_switch(tmp_path), _ids(entry))) == []


def test_ids_on_the_command_line_need_a_reboot(tmp_path: Path) -> None:
    owner = _ids(GPU_ID, NIC_ID, where="vfio-pci.ids=")

    found = finding(_judged(one_switch(tmp_path), owner), "owner.vfio-ids", "host")

    assert f"vfio-pci takes {GPU}, {NIC} as it loads" in found.reason
    assert found.remedy is not None
    assert found.remedy.reboot


def test_a_built_in_vfio_pci_binds_before_any_program(tmp_path: Path) -> None:
    owner = Owner(OwnerKind.BUILT_IN, "/sys/module/vfio_pci", ids=(GPU_ID,))

    found = finding(_judged(one_switch(tmp_path), owner), "owner.vfio-built-in", "host")

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert "before any program runs" in found.reason
    assert found.remedy is not None
    assert (found.remedy.kind, found.remedy.reboot) == (RemedyKind.KERNEL_ARGS, True)
    assert "pcietune kernel-args" in found.remedy.command


def test_a_built_in_vfio_pci_without_ids_takes_nothing_by_itself(tmp_path: Path) -> None:
    owner = Owner(OwnerKind.BUILT_IN, "/sys/module/vfio_pci")

    assert _about_owners(_judged(one_switch(tmp_path), owner)) == []


def test_on_bare_metal_it_is_not_judged_who_binds_to_vfio(tmp_path: Path) -> None:
    audited = _judged(one_switch(tmp_path), _ids(GPU_ID), mode=ModeName.BAREMETAL)

    assert _about_owners(audited) == []


# truenas/middleware#11397 and quickpassthrough#10 (E11): bound by id, the host's own GPU is gone.


def test_an_identical_gpu_that_the_host_keeps_is_taken_by_the_same_id(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(gpu(OTHER_GPU))
    kept = Protect(Selector.ADDRESS, OTHER_GPU)

    found = finding(_judged(tree, _ids(GPU_ID), protect=(kept,)), "owner.vfio-ids", "host")

    assert f"vfio-pci takes {GPU}, and {OTHER_GPU} too, which the profile does not" in found.reason
    assert found.remedy is not None
    assert "by address" in found.remedy.command


def test_a_nic_of_the_same_id_at_another_place_is_taken_too(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(nic(OTHER_GPU))  # outside the switch that carries a GPU: the storage NIC

    found = finding(_judged(tree, _ids(NIC_ID)), "owner.vfio-ids", "host")

    assert f"takes {NIC}, and {OTHER_GPU} too" in found.reason


# A report of a host with eight RTX 6000 Ada (A33): the audio function's id fits other cards too.


def _audio(address: str) -> Function:
    config = ConfigBuilder("10de:22ba", 0x040300).power_management().express(ENDPOINT)
    below = "0000:22:00.0" if address.startswith("0000:23") else None
    return Function(address, config, below=below)


def test_the_audio_function_of_another_card_is_taken_and_that_of_a_gpu_is_no_stranger(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    tree.add(_audio("0000:23:00.1"), _audio(OTHER_AUDIO))

    found = finding(_judged(tree, _ids(GPU_ID, "10de:22ba")), "owner.vfio-ids", "host")

    assert f"takes {GPU}, and {OTHER_AUDIO} too" in found.reason
    assert "0000:23:00.1" not in found.reason


# Documentation/ABI/testing/sysfs-bus-pci: driver_override prints (null) where it is not set.


def _bound(override: str, driver: str | None = "vfio-pci") -> Function:
    function = gpu(GPU, below="0000:22:00.0", driver=driver)
    return replace(function, attributes={**function.attributes, "driver_override": override})


def test_a_function_that_vfio_has_and_nobody_named_was_bound_by_new_id(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_bound("(null)")])

    found = finding(_judged(tree), "owner.new-id", GPU)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert found.found.text == "vfio-pci, without driver_override"


@pytest.mark.parametrize("override", ["vfio-pci", ""])
def test_a_function_with_an_override_was_bound_by_that(tmp_path: Path, override: str) -> None:
    tree = one_switch(tmp_path, instead=[_bound(override)])

    assert _about_owners(_judged(tree)) == []


def test_a_function_that_vfio_does_not_have_was_not_bound_by_new_id(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_bound("(null)", driver="nvidia")])

    assert _about_owners(_judged(tree)) == []


def test_a_function_that_an_id_names_was_bound_by_that(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_bound("(null)")])

    assert [f.id for f in _about_owners(_judged(tree, _ids(GPU_ID)))] == ["owner.vfio-ids"]


def _driverctl(driver: str) -> Owner:
    where = f"/etc/driverctl.d/pci-{NIC}"
    address = PciAddress.parse(NIC)
    return Owner(OwnerKind.DRIVERCTL, where, addresses=(address,), says=driver)


@pytest.mark.parametrize("driver", ["vfio-pci", "mlx5_vfio_pci", "mlx5_core"])
def test_driverctl_comes_after_apply_and_only_informs(tmp_path: Path, driver: str) -> None:
    found = finding(_judged(one_switch(tmp_path), _driverctl(driver)), "owner.driverctl", NIC)

    assert (found.state, found.severity, found.found.value) == (State.FAIL, Severity.INFO, driver)
    assert found.exit_code(strict=True) is ExitCode.OK


def test_driverctl_and_the_gate_contradict_each_other_on_one_function(tmp_path: Path) -> None:
    owner = _driverctl("mlx5_core")

    found = finding(
        _judged(one_switch(tmp_path), owner, bind=(RoleName.NIC,)), "owner.driverctl", NIC
    )

    assert found.severity is Severity.WARNING
    assert found.remedy is not None
    assert found.remedy.command == f"driverctl unset-override {NIC}"


@pytest.mark.parametrize(
    ("driver", "bind"), [("mlx5_core", RoleName.GPU), ("mlx5_vfio_pci", RoleName.NIC)]
)
def test_driverctl_and_the_gate_agree(tmp_path: Path, driver: str, bind: RoleName) -> None:
    audited = _judged(one_switch(tmp_path), _driverctl(driver), bind=(bind,))

    assert finding(audited, "owner.driverctl", NIC).severity is Severity.INFO


def test_driverctl_of_other_functions_is_the_sites_own_business(tmp_path: Path) -> None:
    elsewhere = replace(_driverctl("vfio-pci"), addresses=(PciAddress.parse("0000:01:00.0"),))

    assert _about_owners(_judged(one_switch(tmp_path), elsewhere)) == []


def test_libvirt_comes_after_apply_and_only_informs(tmp_path: Path) -> None:
    addresses = (PciAddress.parse(GPU), PciAddress.parse("0000:01:00.0"))
    owner = Owner(OwnerKind.LIBVIRT_MANAGED, "/etc/libvirt/qemu", addresses=addresses)

    [found] = _about_owners(_judged(one_switch(tmp_path), owner))

    assert (found.id, str(found.subject.address)) == ("owner.libvirt-managed", GPU)
    assert found.severity is Severity.INFO


@pytest.mark.parametrize(
    ("kind", "finding_id", "severity"),
    [
        (OwnerKind.VFIO_MANAGER, "owner.vfio-manager", Severity.INFO),
        (OwnerKind.NIC_OPERATOR, "owner.nic-operator", Severity.WARNING),
        (OwnerKind.SRIOV_OPERATOR, "owner.sriov-operator", Severity.INFO),
    ],
)
def test_an_operator_is_told_by_what_it_does(
    tmp_path: Path, kind: OwnerKind, finding_id: str, severity: Severity
) -> None:
    found = finding(_judged(one_switch(tmp_path), Owner(kind, "/var/log/pods")), finding_id, "host")

    assert (found.state, found.severity) == (State.FAIL, severity)
    assert "/var/log/pods" in found.found.text


def test_the_operator_that_switches_ats_off_is_told_to_leave_that_out(tmp_path: Path) -> None:
    operator = Owner(OwnerKind.NIC_OPERATOR, "/var/log/pods")

    found = finding(_judged(one_switch(tmp_path), operator), "owner.nic-operator", "host")

    assert "ATS_ENABLED=0" in found.reason
    assert found.remedy is not None
    assert "gpuDirectOptimized" in found.remedy.command


def test_what_could_not_be_looked_into_is_not_taken_for_nobody(tmp_path: Path) -> None:
    said = "which functions libvirt manages: /etc/libvirt/qemu may not be read"

    found = finding(_judged(one_switch(tmp_path), not_known=(said,)), "owner.unread", "host")

    assert (found.state, found.severity) == (State.ERROR, Severity.INFO)
    assert said in found.reason
