"""ATS is seen only after a VM has opened its functions (facts of a kernel 6.12 on the bench)."""

from pathlib import Path

import pytest
from trees.function import gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC
from tune.vm_start import Clock, function, live, open_by_vfio, set_ats

from pcietune.errors import ExitCode
from pcietune.model.ats_seen import AtsSeen, Sight
from pcietune.tune.ats.at_start import Patience, is_open, wait_for_ats


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host whose GPU and NIC are bound to VFIO and idle, with ATS off."""
    tree = one_switch(tmp_path, driver="vfio-pci")
    set_ats(tree, NIC, 0x0000)
    return tree


def _seen(tree: TreeHost, clock: Clock, *addresses: str) -> list[AtsSeen]:
    patience = Patience(60, 5, clock.now, clock.sleep)
    return wait_for_ats(lambda: live(tree), [function(tree, each) for each in addresses], patience)


def _sights(seen: list[AtsSeen]) -> list[Sight]:
    return [each.sight for each in seen]


def test_what_is_bound_and_idle_is_not_open(tree: TreeHost) -> None:
    assert not is_open(live(tree), function(tree, NIC))

    open_by_vfio(tree, NIC)

    assert is_open(live(tree), function(tree, NIC))


def test_what_another_driver_has_is_not_open(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="mlx5_core")
    (tree.directory(NIC) / "enable").write_text("1\n")

    assert not is_open(live(tree), function(tree, NIC))


def test_a_function_that_vanished_is_not_open(tree: TreeHost) -> None:
    gone = function(tree, NIC)
    (tree.root / "sys/bus/pci/devices" / NIC).unlink()

    assert not is_open(live(tree), gone)


def test_the_register_is_read_once_a_vm_has_opened_the_function(tree: TreeHost) -> None:
    def start() -> None:
        set_ats(tree, NIC, 0x8000)
        open_by_vfio(tree, GPU, NIC)

    clock = Clock((20, start))

    seen = _seen(tree, clock, GPU, NIC)

    assert _sights(seen) == [Sight.NO_CAPABILITY, Sight.ON]
    assert seen[1].control == 0x8000
    assert [each.exit_code for each in seen] == [ExitCode.OK, ExitCode.OK]
    assert 20 <= clock.time_s < 21


def test_a_domain_that_is_attached_after_the_open_is_waited_for(tree: TreeHost) -> None:
    open_by_vfio(tree, NIC)
    clock = Clock((3, lambda: set_ats(tree, NIC, 0x8000)))

    assert _sights(_seen(tree, clock, NIC)) == [Sight.ON]
    assert 3 <= clock.time_s < 4


def test_a_reset_that_reads_as_all_ones_is_waited_out(tree: TreeHost) -> None:
    set_ats(tree, NIC, 0x8000)
    config = tree.config(NIC)
    whole = config.read_bytes()
    config.write_bytes(b"\xff" * len(whole))
    open_by_vfio(tree, NIC)
    clock = Clock((1, lambda: _write(config, whole)))

    assert _sights(_seen(tree, clock, NIC)) == [Sight.ON]


def test_ats_that_stays_off_is_a_difference(tree: TreeHost) -> None:
    open_by_vfio(tree, NIC)
    clock = Clock()

    [seen] = _seen(tree, clock, NIC)

    assert (seen.sight, seen.control, seen.exit_code) == (Sight.OFF, 0, ExitCode.DIFFERS)
    assert 5 <= clock.time_s < 6


def test_ats_of_a_vm_that_ends_at_once_is_not_called_off(tree: TreeHost) -> None:
    open_by_vfio(tree, NIC)
    clock = Clock((1, lambda: _write(tree.directory(NIC) / "enable", b"0\n")))

    assert _sights(_seen(tree, clock, NIC)) == [Sight.NOT_OPEN]
    assert clock.time_s < 2


def test_what_no_vm_opens_is_told_after_the_time_is_up(tree: TreeHost) -> None:
    open_by_vfio(tree, GPU)
    clock = Clock()

    seen = _seen(tree, clock, GPU, NIC)

    assert _sights(seen) == [Sight.NO_CAPABILITY, Sight.NOT_OPEN]
    assert seen[1].exit_code is ExitCode.DIFFERS
    assert 60 <= clock.time_s < 61


def test_what_cannot_be_read_is_never_on(tree: TreeHost) -> None:
    config = tree.config(NIC)
    config.write_bytes(b"\xff" * len(config.read_bytes()))
    open_by_vfio(tree, NIC)

    [seen] = _seen(tree, Clock(), NIC)

    assert seen.sight is Sight.UNREADABLE
    assert seen.error is not None
    assert seen.exit_code is ExitCode.UNREADABLE


def test_without_patience_it_is_looked_at_once(tree: TreeHost) -> None:
    open_by_vfio(tree, NIC)
    clock = Clock()

    wait_for_ats(lambda: live(tree), [function(tree, NIC)], Patience(0, 0, clock.now, clock.sleep))

    assert clock.time_s == 0


def test_a_gpu_with_ats_is_looked_at_as_a_nic_is(tmp_path: Path) -> None:
    with_ats = gpu("0000:23:00.0", below="0000:22:00.0", driver="vfio-pci")
    with_ats.config.ats(0x0020, 0x8000)
    off = nic("0000:24:00.0", below="0000:22:04.0", driver="vfio-pci", ats=None)
    tree = one_switch(tmp_path, instead=[with_ats, off])
    open_by_vfio(tree, GPU, NIC)

    assert _sights(_seen(tree, Clock(), GPU, NIC)) == [Sight.ON, Sight.NO_CAPABILITY]


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
