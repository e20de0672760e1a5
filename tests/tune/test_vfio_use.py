from pathlib import Path

from trees.function import nic
from trees.machines import one_switch
from tune.faults import vanish
from tune.judged import GPU, NIC, NIC_PORT, at, opened

from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
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


def test_of_a_dump_nobody_knows_whether_vfio_uses_a_function_or_relies_on_its_isolation(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci", instead=[nic(NIC, below=NIC_PORT)])
    (tree.directory(NIC) / "enable").unlink()
    host = SysfsHost(HostFiles(tree.root, recorded=True, complete=False))
    untold, told = at(host, NIC), at(host, GPU)

    assert why_in_use(host, [untold]) == (
        f"whether VFIO uses {NIC} is not known: a dump does not tell"
    )
    assert why_relied_on(host, [untold], AcsControl.SOURCE_VALIDATION) == (
        f"whether VFIO relies on the isolation of {NIC} is not known: a dump does not tell"
    )
    assert given_to_vfio(host, [untold, told]) == [told]
