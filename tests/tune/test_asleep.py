from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, at, opened

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.host.sysfs import SysfsHost
from pcietune.tune.watch.asleep import let_sleep, sleeper

TOP = "0000:21:00.0"


def put(tree: TreeHost, address: str, name: str, text: str) -> None:
    (tree.directory(address) / name).write_text(f"{text}\n")


def woken(host: SysfsHost, address: str) -> str | None:
    """Return what a read of a function would wake."""
    functions = {function.address: function for function in host.functions()}
    found = sleeper(host, functions, at(host, address))
    return None if found is None else str(found.address)


@pytest.mark.parametrize("name", ["power/runtime_status", "power_state"])
@pytest.mark.parametrize("sleeping", [NIC_PORT, TOP, ROOT_PORT])
def test_a_read_wakes_a_bridge_above_that_sleeps(tmp_path: Path, sleeping: str, name: str) -> None:
    tree = one_switch(tmp_path)
    put(tree, sleeping, name, "suspended" if name.endswith("status") else "D3hot")

    assert woken(opened(tree), NIC) == sleeping
    assert woken(opened(tree), sleeping) == sleeping


def test_a_function_in_d3hot_answers_and_sleeps_on(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    put(tree, NIC, "power_state", "D3hot")
    put(tree, NIC, "power/runtime_status", "suspended")

    assert woken(opened(tree), NIC) is None


def test_a_read_wakes_a_function_in_d3cold(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    put(tree, NIC, "power_state", "D3cold")

    assert woken(opened(tree), NIC) == NIC


def test_what_sleeps_elsewhere_is_not_woken(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    put(tree, GPU_PORT, "power/runtime_status", "suspended")

    assert woken(opened(tree), NIC) is None
    assert woken(opened(tree), TOP) is None
    assert woken(opened(tree), GPU) == GPU_PORT


def test_a_kernel_without_runtime_power_management_has_nothing_asleep(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    for address in (ROOT_PORT, TOP, NIC_PORT, NIC):
        (tree.directory(address) / "power_state").unlink()
        (tree.directory(address) / "power/runtime_status").unlink()

    assert woken(opened(tree), NIC) is None


def test_no_register_is_read_of_what_is_let_sleep(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    put(tree, NIC_PORT, "power/runtime_status", "suspending")
    for address in (NIC_PORT, NIC):
        tree.config(address).unlink()  # else a read would show
    host, left_alone = opened(tree), set[PciAddress]()

    with host.watched(let_sleep(host, left_alone.add)):
        for address in (NIC_PORT, NIC):
            with pytest.raises(ConfigSpaceError, match=f"{NIC_PORT} sleeps and is not woken"):
                host.config(at(host, address))
        host.config(at(host, GPU)).read_word(0)

    assert {str(address) for address in left_alone} == {NIC_PORT, NIC}
