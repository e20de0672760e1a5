"""A bridge recovered from an error, or did not; a function went."""

from pathlib import Path

import pytest
from hook.events import add, event, hook, leave, stamp
from trees.fabrics import two_switches
from trees.function import ACS_BY_LINUX
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, set_word, word
from tune.judged import GPU, NIC, NIC_PORT, ROOT_PORT

from pcietune.errors import ExitCode

TUNED = 0x005D
RECOVERIES = ["SUCCESSFUL_RECOVERY", "FAILED_RECOVERY"]


def recovered(tree: TreeHost, bridge: str, how: str) -> dict[str, str]:
    return event(tree, "change", bridge, ERROR_EVENT=how, DEVICE_ONLINE="1")


@pytest.mark.parametrize("how", RECOVERIES)
def test_what_was_reset_below_a_bridge_is_set_again(tmp_path: Path, how: str) -> None:
    tree = two_switches(tmp_path)
    leave(tree)
    for function in ("0000:24:00.0", "0000:25:00.0", "0000:44:00.0"):
        add(tree, function)
    first = stamp(tree, "0000:24:00.0")
    for port in ("0000:22:04.0", "0000:22:08.0", "0000:42:04.0"):
        set_word(tree, port, ACS_BY_LINUX)

    told = hook(tmp_path, recovered(tree, "0000:20:01.0", how))

    assert told.exit_code == ExitCode.OK
    assert word(tree, "0000:22:04.0") == TUNED
    assert word(tree, "0000:22:08.0") == TUNED
    assert word(tree, "0000:42:04.0") == ACS_BY_LINUX  # below another bridge
    again = stamp(tree, "0000:24:00.0")
    assert first is not None
    assert again is not None
    assert again["bound_before"] == first["bound_before"]
    assert again["verified_us"] != first["verified_us"]
    assert stamp(tree, "0000:43:00.0") is None


def test_what_cannot_be_mended_loses_its_stamp_and_the_rest_is_mended(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    leave(tree)
    for function in ("0000:24:00.0", "0000:25:00.0"):
        add(tree, function)
    set_word(tree, "0000:22:08.0", ACS_BY_LINUX)
    all_ones(tree, "0000:22:04.0")

    told = hook(tmp_path, recovered(tree, "0000:20:01.0", "FAILED_RECOVERY"))

    assert told.exit_code == ExitCode.UNREADABLE
    assert stamp(tree, "0000:24:00.0") is None
    assert word(tree, "0000:22:08.0") == TUNED
    assert stamp(tree, "0000:25:00.0") is not None


def test_nothing_is_set_below_a_bridge_while_a_vm_uses_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    add(tree, NIC)
    set_word(tree, NIC_PORT, ACS_BY_LINUX)
    (tree.directory(NIC) / "vfio-dev").mkdir()
    (tree.directory(NIC) / "enable").write_text("1\n")

    told = hook(tmp_path, recovered(tree, ROOT_PORT, "SUCCESSFUL_RECOVERY"))

    assert f"{NIC} below {NIC_PORT} is in use by VFIO" in told.stderr
    assert word(tree, NIC_PORT) == ACS_BY_LINUX
    assert stamp(tree, NIC) is None


@pytest.mark.parametrize("more", [{}, {"ERROR_EVENT": "BEGIN_RECOVERY"}, {"ERROR_EVENT": ""}])
def test_other_changes_are_passed_over(tmp_path: Path, more: dict[str, str]) -> None:
    tree = one_switch(tmp_path)
    leave(tree)

    assert hook(tmp_path, event(tree, "change", ROOT_PORT, **more)).exit_code == ExitCode.OK
    assert word(tree, NIC_PORT) == ACS_BY_LINUX


def test_a_function_that_went_has_no_stamp(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    add(tree, NIC)
    add(tree, GPU)
    gone = event(tree, "remove", NIC)
    (tmp_path / f"sys/bus/pci/devices/{NIC}").unlink()

    told = hook(tmp_path, gone)

    assert (told.exit_code, told.stderr) == (ExitCode.OK, "")
    assert stamp(tree, NIC) is None
    assert stamp(tree, GPU) is not None


def test_a_function_that_went_while_pcietune_was_off_has_no_stamp_afterwards(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    add(tree, NIC)
    tree.put("etc/pcietune/disabled", "")

    hook(tmp_path, event(tree, "remove", NIC))

    assert stamp(tree, NIC) is None


def test_a_removal_that_names_no_address_removes_no_file(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)

    hook(tmp_path, {"ACTION": "remove", "PCI_SLOT_NAME": "../policy.json"})

    assert (tmp_path / "run/pcietune/policy.json").exists()
