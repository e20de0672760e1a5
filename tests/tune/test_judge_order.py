"""Whether VFIO came after the settings, by the stamps of this boot."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import nic
from trees.machines import one_switch
from tune.judged import GPU, NIC, opened, surveyed
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.owners import Owner, OwnerKind, Owners
from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity
from pcietune.model.stamp import Stamp
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.audit.memory import Memory

GPU_AT = "0000:20:01.0/00.0/00.0/00.0"
NIC_AT = "0000:20:01.0/00.0/04.0/00.0"


def _stamp(
    address: str,
    location: str,
    id: str,  # noqa: A002 -- as everywhere in the model
    *,
    bound_before: bool | None,
) -> Stamp:
    return Stamp(
        address=address,
        location=location,
        id=id,
        boot_id="3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01",
        verified_us=4_000_000,
        bound_before=bound_before,
    )


def _of_gpu(*, bound_before: bool | None) -> Stamp:
    return _stamp(GPU, GPU_AT, "10de:20f3", bound_before=bound_before)


def _of_nic(*, bound_before: bool | None) -> Stamp:
    return _stamp(NIC, NIC_AT, "15b3:101b", bound_before=bound_before)


def _judged(
    root: Path,
    *stamps: Stamp,
    driver: str | None = "vfio-pci",
    owners: Owners | None = None,
    mode: ModeName = ModeName.VM,
) -> list[Finding]:
    host = opened(one_switch(root, driver=driver))
    memory = Memory(stamps={stamp.address: stamp for stamp in stamps}, owners=owners)
    audited = audit(host, surveyed(host), Yardstick(PROFILE, mode), memory)
    return [f for f in audited.findings if f.id == "vfio.order"]


def _states(findings: list[Finding]) -> list[tuple[str, State]]:
    return [(str(f.subject.address), f.state) for f in findings]


def test_where_apply_did_not_run_in_this_boot_no_order_is_judged(tmp_path: Path) -> None:
    assert _judged(tmp_path) == []


def test_what_vfio_got_after_the_settings_is_in_order(tmp_path: Path) -> None:
    found = _judged(tmp_path, _of_gpu(bound_before=False), _of_nic(bound_before=False))

    assert _states(found) == [(GPU, State.PASS), (NIC, State.PASS)]


def test_what_vfio_had_before_the_settings_was_early(tmp_path: Path) -> None:
    found = _judged(tmp_path, _of_gpu(bound_before=True), _of_nic(bound_before=False))

    assert _states(found) == [(GPU, State.FAIL), (NIC, State.PASS)]
    assert found[0].severity is Severity.INFO  # a port that is wrong fails by itself
    assert found[0].found.text == "bound to VFIO before the settings were in place"
    assert found[0].remedy is not None
    assert found[0].remedy.kind is RemedyKind.KERNEL_ARGS
    assert "pcietune kernel-args" in found[0].remedy.command


def test_what_vfio_has_without_a_stamp_was_never_seen_in_order(tmp_path: Path) -> None:
    [of_gpu, _] = _judged(tmp_path, _of_nic(bound_before=False))

    assert (of_gpu.state, of_gpu.severity) == (State.FAIL, Severity.INFO)
    assert "were not seen as wanted in this boot" in of_gpu.reason


def test_the_stamp_of_another_function_at_that_place_does_not_count(tmp_path: Path) -> None:
    other = _stamp(GPU, GPU_AT, "10de:2330", bound_before=False)

    [of_gpu, _] = _judged(tmp_path, other, _of_nic(bound_before=False))

    assert of_gpu.state is State.FAIL


def test_an_order_that_could_not_be_told_is_not_known(tmp_path: Path) -> None:
    [of_gpu, _] = _judged(tmp_path, _of_gpu(bound_before=None), _of_nic(bound_before=False))

    assert of_gpu.state is State.ERROR


@pytest.mark.parametrize("driver", [None, "nvidia"])
def test_what_vfio_does_not_have_is_in_no_order(tmp_path: Path, driver: str | None) -> None:
    assert _judged(tmp_path, _of_gpu(bound_before=True), driver=driver) == []


def test_on_bare_metal_nothing_is_handed_over(tmp_path: Path) -> None:
    assert _judged(tmp_path, _of_gpu(bound_before=True), mode=ModeName.BAREMETAL) == []


def test_a_vf_that_has_a_stamp_is_judged_like_its_pf(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    virtual = nic("0000:24:00.2", below="0000:22:04.0", driver="vfio-pci")
    tree.add(replace(virtual, physical_function=NIC))
    tree.add(replace(virtual, address="0000:24:00.3", physical_function=NIC))
    host = opened(tree)
    place = "0000:20:01.0/00.0/04.0/00.2"
    stamp = _stamp("0000:24:00.2", place, "15b3:101b", bound_before=True)
    memory = Memory(stamps={stamp.address: stamp})

    audited = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.VM), memory)

    found = [f for f in audited.findings if f.id == "vfio.order"]
    assert _states(found) == [("0000:24:00.2", State.FAIL)]


IDS = Owner(OwnerKind.MODULE_IDS, "/etc/modprobe.d/vfio.conf", ids=("10de:20f3",))
BUILT_IN = Owner(OwnerKind.BUILT_IN, "/sys/module/vfio_pci", ids=("10de:20f3",))
DRIVERCTL = Owner(OwnerKind.DRIVERCTL, "/etc/x", addresses=(PciAddress.parse(GPU),), says="vfio")


@pytest.mark.parametrize(
    ("owner", "cause"),
    [
        (IDS, "/etc/modprobe.d/vfio.conf names its id"),
        (BUILT_IN, "vfio-pci is built into the kernel"),
        (DRIVERCTL, "driverctl bound it"),
        (replace(IDS, ids=("15b3:101b",)), "something bound it in the initramfs"),
        (None, "something bound it in the initramfs"),
    ],
)
def test_the_cause_is_the_owner_that_names_the_function(
    tmp_path: Path, owner: Owner | None, cause: str
) -> None:
    owners = None if owner is None else Owners((owner,))

    [of_gpu] = _judged(tmp_path, _of_gpu(bound_before=True), owners=owners)[:1]

    assert cause in of_gpu.reason
