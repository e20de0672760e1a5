"""Many events at once, as when a switch is rescanned: udev runs them side by side."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from cli.in_process import Pcietune
from hook.events import add, leave, stamp
from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost
from tune.faults import word

from pcietune.errors import ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.run.undo_log import read_undo_record
from pcietune.model.undo import Outcome

AT_ONCE = 16  # workers of udevd, on a small host
PORTS = 32  # of a switch: one for a GPU, the others for NICs
BUSES = (0x20, 0x40, 0x60, 0x80)


def switch(bus: int) -> list[Function]:
    """Return a root port and a switch, with a GPU and 31 NICs."""
    root, up = f"0000:{bus - 1:02x}:01.0", f"0000:{bus:02x}:00.0"
    functions = [root_port(root), upstream_port(up, below=root)]
    for number in range(PORTS):
        port = f"0000:{bus + 1:02x}:{number:02x}.0"
        functions.append(downstream_port(port, below=up))
        place = f"00{bus:02x}:{number:02x}:00.0"  # a domain of its own, so that buses suffice
        functions.append(nic(place, below=port) if number else gpu(place, below=port))
    return functions


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> TreeHost:
    """Return a host with 128 endpoints, all of which were added at once."""
    tree = TreeHost(tmp_path_factory.mktemp("storm"))
    for bus in BUSES:
        tree.add(*switch(bus))
    leave(tree)
    with ThreadPoolExecutor(AT_ONCE) as udevd:
        told = list(udevd.map(lambda address: add(tree, address), endpoints()))
    assert {each.exit_code for each in told} == {ExitCode.OK}
    return tree


def endpoints() -> list[str]:
    return [f"00{bus:02x}:{number:02x}:00.0" for bus in BUSES for number in range(PORTS)]


def test_none_of_128_added_functions_is_lost(stormy: TreeHost) -> None:
    assert [address for address in endpoints() if stamp(stormy, address) is None] == []
    for bus in BUSES:
        words = [word(stormy, f"0000:{bus + 1:02x}:{number:02x}.0") for number in range(PORTS)]
        assert words == [0x1D] + [0x5D] * (PORTS - 1)


def test_all_of_their_writes_are_recorded_and_restore_puts_them_back(
    stormy: TreeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    record = read_undo_record(HostFiles(stormy.root, recorded=True))
    assert record is not None
    assert [change.outcome for change in record.changes] == [Outcome.KEPT] * 124

    assert Pcietune(capsys)("restore", "--from", stormy.root, "--in-place").exit_code == ExitCode.OK

    for bus in BUSES:
        words = {word(stormy, f"0000:{bus + 1:02x}:{number:02x}.0") for number in range(PORTS)}
        assert words == {0x1D}
