"""A function is given to VFIO, or was, by whomever."""

from dataclasses import replace
from pathlib import Path

import pytest
from hook.events import add, event, hook, leave, stamp
from hook.kernel import kernel_that_binds, with_override
from trees.function import ACS_BY_LINUX, nic
from trees.machines import one_switch
from tune.faults import set_word, word
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT
from tune.profiles import VM, with_mode

from pcietune.errors import ExitCode
from pcietune.model.profile import Profile
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy

BINDING = VfioPolicy(bind=(RoleName.GPU, RoleName.NIC))


def handing_over(policy: VfioPolicy = BINDING) -> Profile:
    return with_mode(replace(VM, vfio=policy))


def test_a_function_is_bound_once_its_ports_are_as_wanted(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    override = with_override(tree, NIC)
    leave(tree, profile=handing_over())

    with kernel_that_binds(tree, NIC, "vfio-pci"):
        told = add(tree, NIC)

    assert told.exit_code == ExitCode.OK
    assert told.stderr.splitlines() == [
        f"pcietune: {NIC}, add: {NIC_PORT} ACSCtl 0x001d -> 0x005d",
        f"pcietune: {NIC} bound to vfio-pci",
    ]
    assert override.read_text() == "vfio-pci\n"
    found = stamp(tree, NIC)
    assert found is not None
    assert found["bound_before"] is False


def test_what_the_kernel_does_not_bind_is_not_said_to_be(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    with_override(tree, GPU)
    tree.put("sys/bus/pci/drivers_probe", "")
    leave(tree, profile=handing_over())

    told = add(tree, GPU)

    assert told.exit_code == ExitCode.UNREADABLE
    assert told.stderr == (f"pcietune: {GPU}, add: was to get vfio-pci, but its driver is none\n")


def test_what_is_not_as_wanted_gets_no_override(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    override = with_override(tree, GPU)
    leave(tree, profile=handing_over())
    set_word(tree, GPU_PORT, 0)

    assert add(tree, GPU).exit_code == ExitCode.DIFFERS
    assert override.read_text() == "(null)\n"


def test_under_enforce_audit_nothing_is_bound(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    override = with_override(tree, GPU)
    leave(tree, profile=handing_over(), enforce=False)

    assert add(tree, GPU).exit_code == ExitCode.OK
    assert override.read_text() == "(null)\n"
    assert stamp(tree, GPU) is not None


def test_what_a_unit_probes_later_only_gets_its_override(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    override = with_override(tree, GPU)
    probe = tree.put("sys/bus/pci/drivers_probe", "")
    leave(tree, profile=handing_over(VfioPolicy((RoleName.GPU,), after="fabric.service")))

    told = add(tree, GPU)

    assert (told.exit_code, told.stderr) == (
        ExitCode.OK,
        f"pcietune: {GPU} driver_override vfio-pci\n",
    )
    assert override.read_text() == "vfio-pci\n"
    assert probe.read_text() == "\n"


@pytest.mark.parametrize(
    ("driver", "override", "said"),
    [
        ("mlx5_core", "(null)", "has the driver mlx5_core, from which it is not taken"),
        (None, "mlx5_core", "driver_override is mlx5_core, not set by pcietune"),
    ],
)
def test_nothing_is_taken_from_who_else_has_it(
    tmp_path: Path, driver: str | None, override: str, said: str
) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, driver=driver)])
    file = with_override(tree, NIC, override)
    leave(tree, profile=handing_over())

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.DIFFERS
    assert said in told.stderr
    assert file.read_text() == f"{override}\n"


def test_a_variant_driver_is_left_as_it_is(tmp_path: Path) -> None:
    bound = nic(NIC, below=NIC_PORT, driver="mlx5_vfio_pci")
    tree = one_switch(tmp_path, instead=[replace(bound, vfio=True)])
    override = with_override(tree, NIC)
    leave(tree, profile=handing_over())

    told = add(tree, NIC)

    assert told.exit_code == ExitCode.OK
    assert override.read_text() == "(null)\n"


def test_a_binding_by_somebody_else_is_verified_and_stamped_as_such(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    leave(tree)

    told = hook(tmp_path, event(tree, "bind", GPU))

    assert (told.exit_code, told.stderr) == (ExitCode.OK, "")
    found = stamp(tree, GPU)
    assert found is not None
    assert found["bound_before"] is True


def test_a_binding_above_which_something_is_wrong_is_told_and_not_mended(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    add(tree, NIC)
    set_word(tree, NIC_PORT, ACS_BY_LINUX)
    (tree.directory(NIC) / "vfio-dev").mkdir()

    told = hook(tmp_path, event(tree, "bind", NIC, DRIVER="vfio-pci"))

    assert told.exit_code == ExitCode.DIFFERS
    assert f"{NIC}, bind: {NIC_PORT} reads ACSCtl 0x001d" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX
    assert stamp(tree, NIC) is None


def test_a_stamp_from_before_a_binding_stands(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    add(tree, NIC)
    before = stamp(tree, NIC)
    (tree.directory(NIC) / "vfio-dev").mkdir()

    hook(tmp_path, event(tree, "bind", NIC, DRIVER="vfio-pci"))

    assert stamp(tree, NIC) == before
