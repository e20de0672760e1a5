"""The servers that docs/hosts shows: what lspci prints of them, and recordings.

The VM there was recorded on the bench (bench.record_hosts).

``python -m style.example_hosts`` in tests writes them anew.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from skus.server import Server
from style.console_blocks import CHECKOUT
from trees.config import ROOT_PORT, ConfigBuilder
from trees.dump import numbered, one_switch_functions
from trees.express import Express
from trees.fabrics import cascade_functions
from trees.function import ACS_BY_LINUX, Function, gpu, nic
from trees.host import TreeHost
from trees.nodes import add_node

_HOSTS = CHECKOUT / "docs" / "hosts"
_DISPLAY = 0x03  # base class
_DEVICE_ID = 0x02  # Device ID, 16 bits, of the header
_A100_CARD = 0x20B5
_GIB_IN_KIB = 1 << 20
_CORES = 32  # of each node, with two threads


def lspci_of(functions: Iterable[Function], root: Path) -> str:
    """Return what ``lspci -D -nnvvv`` prints as root on a server, made below ``root``."""
    TreeHost(root).add(*functions)
    command = ["lspci", "-O", f"sysfs.path={root}/sys/bus/pci", "-D", "-nnvvv"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _with_a_plain_gpu(function: Function) -> Function:
    """Return a GPU as an A100 on a PCIe card, which no profile of a board describes."""
    if function.config.class_code >> 16 == _DISPLAY:
        function.config.device = _A100_CARD
        function.config.word(_DEVICE_ID, _A100_CARD)
    return function


def _given_to_vms(functions: Sequence[Function]) -> list[Function]:
    """Return functions, each in an IOMMU group of its own, endpoints with VFIO's driver."""
    return [
        replace(function, driver=function.driver or "vfio-pci", group=number)
        for number, function in enumerate(map(_with_a_plain_gpu, numbered(functions)))
    ]


def _emulated_root_port(address: str) -> Function:
    """Return QEMU's pcie-root-port, in which a guest's kernel has turned ACS on."""
    config = ConfigBuilder("1b36:000c", 0x060400).express(ROOT_PORT, Express())
    return Function(address, config.acs(ACS_BY_LINUX, ACS_BY_LINUX), driver="pcieport")


def _inside_a_vm() -> list[Function]:
    """Return a GPU and a NIC of a server, each below a port of its own, as their VM sees them."""
    functions = [
        Function("0000:00:00.0", ConfigBuilder("8086:29c0", 0x060000)),
        Function("0000:00:01.0", ConfigBuilder("1af4:1041", 0x020000), driver="virtio-pci"),
        _emulated_root_port("0000:00:02.0"),
        _emulated_root_port("0000:00:03.0"),
        gpu("0000:01:00.0", below="0000:00:02.0", driver="nvidia"),
        nic("0000:02:00.0", below="0000:00:03.0", driver="mlx5_core"),
    ]
    return [
        replace(each, attributes={"numa_node": "-1"})
        for each in map(_with_a_plain_gpu, numbered(functions))
    ]


def _l20_server(root: Path) -> None:
    """Make a server of eight L20 below ``root``, tuned for VMs.

    Two GPUs share a switch and a NIC, which has two VFs. It has two nodes, of 512 GiB, of which 400
    are hugepages.
    """
    tree = Server(["10de:26ba"], ["15b3:1021"], nics_each=1, vfs=2).build(root)
    for node, distance in enumerate(("10 21", "21 10")):
        first, second = node * _CORES, (2 + node) * _CORES
        add_node(
            tree,
            node,
            cpus=f"{first}-{first + _CORES - 1},{second}-{second + _CORES - 1}",
            cores=[f"{first + core},{second + core}" for core in range(_CORES)],
            memory_kib=512 * _GIB_IN_KIB,
            distance=distance,
            hugepages={_GIB_IN_KIB: (400, 400)},
        )


def _pcietune(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pcietune", *arguments], check=True, capture_output=True)


def record(make: Callable[[Path], None], file: Path) -> None:
    """Write the recording of a server, of which ``make`` makes the tree."""
    with tempfile.TemporaryDirectory() as root:
        make(Path(root))
        _pcietune("record", "--from", root, str(file))


EXAMPLES = {
    "small.txt": _given_to_vms(one_switch_functions()),
    "cascade.txt": _given_to_vms(cascade_functions(second_nic=True)),
    "guest.txt": _inside_a_vm(),
}
RECORDINGS = {"l20.tar.gz": _l20_server}


def main() -> None:
    """Write the examples anew."""
    for name, functions in EXAMPLES.items():
        with tempfile.TemporaryDirectory() as root:
            printed = lspci_of(functions, Path(root))
        (_HOSTS / name).write_text(printed)
    for name, make in RECORDINGS.items():
        record(make, _HOSTS / name)


if __name__ == "__main__":
    main()
