"""Which VFIO driver fits: modules.alias as depmod writes it, chosen as libvirt chooses."""

from pathlib import Path

import pytest
from trees.config import ConfigBuilder
from trees.function import Function
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, at

from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.host.vfio_drivers import NOIOMMU, read_vfio_drivers
from pcietune.model.vfio_drivers import VfioDrivers, names_vfio_driver

# The first two lines are of Linux 6.12 (drivers/vfio/pci/mlx5/main.c, vfio_pci.c).
ALIASES = """\
# Aliases extracted from modules themselves.
alias vfio_pci:v000015B3d0000101Esv*sd*bc*sc*i* mlx5_vfio_pci
alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci
alias pci:v000010DEd000020F3sv*sd*bc*sc*i* nouveau
alias vfio_pci:v000010DEd00002342sv*sd*bc*sc*i* nvgrace_gpu_vfio_pci
"""
VF = "0000:30:00.0"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    host.add(Function(VF, ConfigBuilder("15b3:101e", 0x020000)))
    return host


def drivers(tree: TreeHost, *, complete: bool = True) -> VfioDrivers:
    return read_vfio_drivers(HostFiles(tree.root, recorded=True, complete=complete))


@pytest.mark.parametrize(
    ("address", "driver"), [(VF, "mlx5_vfio_pci"), (NIC, "vfio-pci"), (GPU, "vfio-pci")]
)
def test_a_variant_is_chosen_for_its_own_ids_alone(
    tree: TreeHost, address: str, driver: str
) -> None:
    tree.put("lib/modules/6.12.0-amd64/modules.alias", ALIASES)
    host = SysfsHost(HostFiles(tree.root, recorded=True))

    assert drivers(tree).driver_for(at(host, address)) == driver


def test_without_aliases_it_is_vfio_pci(tree: TreeHost) -> None:
    host = SysfsHost(HostFiles(tree.root, recorded=True))

    assert drivers(tree).driver_for(at(host, VF)) == "vfio-pci"


@pytest.mark.parametrize(("text", "unsafe"), [("Y", True), ("N", False)])
def test_the_unsafe_mode_is_read_where_vfio_is_loaded(
    tree: TreeHost, text: str, *, unsafe: bool
) -> None:
    tree.put(NOIOMMU, text)

    assert drivers(tree).unsafe_noiommu is unsafe


def test_without_vfio_there_is_no_unsafe_mode_but_a_dump_does_not_tell(tree: TreeHost) -> None:
    assert drivers(tree).unsafe_noiommu is False
    assert drivers(tree, complete=False).unsafe_noiommu is None


@pytest.mark.parametrize(
    ("name", "vfio"),
    [("vfio-pci", True), ("mlx5_vfio_pci", True), ("pci-stub", False), ("nvidia", False)],
)
def test_variants_of_vfio_pci_are_known_by_name(name: str, *, vfio: bool) -> None:
    assert names_vfio_driver(name) is vfio
    assert not names_vfio_driver(None)
