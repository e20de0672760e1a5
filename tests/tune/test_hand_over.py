"""Functions that were added while the udev hook gave way to watch."""

from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.driver_kernel import DriverKernel, driver_of, override_of, scene
from tune.faults import set_word
from tune.judged import GPU, NIC, NIC_PORT

from pcietune.address import PciAddress
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy
from pcietune.tune.watch.hand_over import hand_over
from pcietune.tune.watch.notice import NoticeKind

BOTH = VfioPolicy((RoleName.GPU, RoleName.NIC))
ADDED_NIC = frozenset({PciAddress.parse(NIC)})


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    set_word(host, NIC_PORT, 0x005D)  # DirectTrans+
    return host


def test_what_was_added_is_given_to_vfio_and_nothing_else(tree: TreeHost) -> None:
    (notice,) = hand_over(scene(DriverKernel(tree), bind=BOTH), ADDED_NIC)

    assert (driver_of(tree, NIC), driver_of(tree, GPU)) == ("vfio-pci", None)
    assert (notice.kind, notice.address) == (NoticeKind.BOUND, NIC)


def test_what_the_hook_bound_already_is_nothing_to_tell(tree: TreeHost) -> None:
    kernel = DriverKernel(tree)
    kernel.bind(NIC, "vfio-pci")

    assert hand_over(scene(kernel, bind=BOTH), ADDED_NIC) == []
    assert kernel.log == []


def test_what_its_own_driver_has_stays_there_and_is_told(tree: TreeHost) -> None:
    kernel = DriverKernel(tree)
    kernel.bind(NIC, "mlx5_core")

    (notice,) = hand_over(scene(kernel, bind=BOTH), ADDED_NIC)

    assert driver_of(tree, NIC) == "mlx5_core"
    assert notice.kind is NoticeKind.FAILED
    assert "mlx5_core" in notice.text


def test_before_the_unit_that_it_waits_for_it_only_gets_its_override(tree: TreeHost) -> None:
    later = VfioPolicy((RoleName.NIC,), after="nvidia-fabricmanager.service")

    (notice,) = hand_over(scene(DriverKernel(tree), bind=later), ADDED_NIC)

    assert (driver_of(tree, NIC), override_of(tree, NIC)) == (None, "vfio-pci")
    assert notice.text.startswith("kept for VFIO by its driver_override vfio-pci")


def test_below_a_port_that_is_not_as_wanted_nothing_is_given(tree: TreeHost) -> None:
    set_word(tree, NIC_PORT, 0x001D)

    (notice,) = hand_over(scene(DriverKernel(tree), bind=BOTH), ADDED_NIC)

    assert driver_of(tree, NIC) is None
    assert notice.kind is NoticeKind.FAILED
    assert notice.text.startswith("not given to VFIO: ")
