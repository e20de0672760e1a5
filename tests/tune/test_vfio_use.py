from pathlib import Path

from trees.machines import one_switch
from tune.faults import vanish
from tune.judged import NIC, at, opened

from pcietune.registers.acs import AcsControl
from pcietune.tune.vfio_use import given_to_vfio, why_in_use, why_relied_on


def test_a_function_that_vanished_is_nobodys(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    host = opened(tree)
    nic = at(host, NIC)
    vanish(tree, NIC)

    assert given_to_vfio(host, [nic]) == []
    assert why_in_use(host, [nic]) is None
    assert why_relied_on(host, [nic], AcsControl.SOURCE_VALIDATION) is None


def test_nobody_relies_on_a_control_that_does_not_isolate(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path, driver="vfio-pci"))

    assert why_relied_on(host, [at(host, NIC)], AcsControl.DIRECT_TRANSLATED_P2P) is None
    assert why_relied_on(host, [at(host, NIC)], AcsControl.UPSTREAM_FORWARDING)
