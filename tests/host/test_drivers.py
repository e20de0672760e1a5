"""Drivers on a tree: what the kernel would be told, and what modprobe is run with."""

from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, at

from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.host.drivers import HostDrivers
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN

MODPROBE = """#!/bin/sh
echo "$@" >> {log}
{end}
"""


def live(tree: TreeHost) -> tuple[HostDrivers, PciFunction]:
    host = SysfsHost(HostFiles(tree.root, recorded=False))
    return HostDrivers(host), at(host, NIC)


def modprobe(directory: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> Path:
    """Put a modprobe first on PATH, and return what it writes down."""
    program, log = directory / "bin/modprobe", directory / "log"
    program.parent.mkdir()
    program.write_text(MODPROBE.format(log=log, end=end))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return log


def test_the_driver_is_the_one_of_this_moment(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="mlx5_core")
    drivers, function = live(tree)

    before = drivers.driver(function)
    (tree.directory(NIC) / "driver").unlink()

    assert (before, drivers.driver(function)) == ("mlx5_core", None)


def test_a_dump_does_not_tell_that_there_is_no_driver(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = SysfsHost(HostFiles(tree.root, recorded=True, complete=False))

    assert HostDrivers(host).driver(at(host, NIC)) is NOT_KNOWN


def test_a_slots_functions_are_those_of_its_eight_numbers_that_are_there(tmp_path: Path) -> None:
    drivers, function = live(one_switch(tmp_path))

    assert [str(address) for address in drivers.in_slot(function)] == [NIC]


def test_a_probe_writes_the_address_where_the_kernel_reads_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    file = tree.put("sys/bus/pci/drivers_probe", "")
    drivers, function = live(tree)

    drivers.probe(function)

    assert file.read_text() == f"{NIC}\n"


def test_unbinding_tells_the_driver_that_has_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="mlx5_core")
    file = tree.put("sys/bus/pci/drivers/mlx5_core/unbind", "")
    drivers, function = live(tree)

    drivers.unbind(function)

    assert file.read_text() == f"{NIC}\n"


def test_what_no_driver_has_cannot_be_unbound(tmp_path: Path) -> None:
    drivers, function = live(one_switch(tmp_path))

    with pytest.raises(ConfigSpaceError):
        drivers.unbind(function)


def test_a_driver_that_is_there_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = modprobe(tmp_path, monkeypatch, "exit 1")
    drivers, _ = live(one_switch(tmp_path / "host", driver="vfio-pci"))

    drivers.load("vfio-pci")

    assert not log.exists()


def test_modprobe_is_asked_for_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = modprobe(tmp_path, monkeypatch, "exit 0")
    drivers, _ = live(one_switch(tmp_path / "host"))

    drivers.load("mlx5_vfio_pci")

    assert log.read_text() == "-- mlx5_vfio_pci\n"


def test_what_modprobe_complains_of_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modprobe(tmp_path, monkeypatch, "echo 'FATAL: Module vfio-pci not found.' >&2; exit 1")
    drivers, _ = live(one_switch(tmp_path / "host"))

    with pytest.raises(NotPermittedError, match=r"cannot be loaded: FATAL: Module vfio-pci not"):
        drivers.load("vfio-pci")


def test_a_recording_is_given_no_orders(tmp_path: Path) -> None:
    host = SysfsHost(HostFiles(one_switch(tmp_path).root, recorded=True))
    drivers, function = HostDrivers(host), at(host, GPU)

    with pytest.raises(BadInputError):
        drivers.load("vfio-pci")
    with pytest.raises(BadInputError):
        drivers.probe(function)
    with pytest.raises(BadInputError):
        drivers.unbind(function)
