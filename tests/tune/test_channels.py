from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened

from pcietune.errors import ExitCode, NotPermittedError
from pcietune.host.sysfs import SysfsHost
from pcietune.tune.change.channels import ChannelState, channels, check_registers


class PlainUser(SysfsHost):
    """A host that is looked at by somebody who is not root."""

    @property
    def privileged(self) -> bool:
        return False


def plain_user(tree: TreeHost) -> SysfsHost:
    return PlainUser(opened(tree).files)


def lock_down(tree: TreeHost, mode: str) -> None:
    words = ("none", "integrity", "confidentiality")
    text = " ".join(f"[{word}]" if word == mode else word for word in words)
    tree.put("sys/kernel/security/lockdown", text)


def test_root_on_a_kernel_that_is_not_locked_down_may_write(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))

    assert channels(host).registers.state is ChannelState.OPEN
    check_registers(host)


@pytest.mark.parametrize("mode", ["integrity", "confidentiality"])
def test_lockdown_closes_the_registers_and_names_the_kernel_argument(
    tmp_path: Path, mode: str
) -> None:
    tree = one_switch(tmp_path)
    lock_down(tree, mode)

    assert channels(opened(tree)).registers.state is ChannelState.CLOSED
    with pytest.raises(NotPermittedError, match=rf"the kernel is locked down \({mode}\)") as said:
        check_registers(opened(tree))
    assert said.value.exit_code == ExitCode.NOT_PERMITTED
    assert "pci=config_acs=" in said.value.hint


def test_not_root_closes_the_registers_and_the_groups(tmp_path: Path) -> None:
    host = plain_user(one_switch(tmp_path))

    assert channels(host).registers.reason == channels(host).group_type.reason == "not root"
    with pytest.raises(NotPermittedError, match="not root") as said:
        check_registers(host)
    assert said.value.hint == "run pcietune as root"


def test_an_unreadable_lockdown_mode_is_tried(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tree.root / "sys/kernel/security/lockdown").unlink()

    assert channels(opened(tree)).registers.state is ChannelState.UNKNOWN
    check_registers(opened(tree))


def test_without_an_iommu_there_is_no_group_type_to_switch(tmp_path: Path) -> None:
    way = channels(opened(one_switch(tmp_path, iommu=False))).group_type

    assert (way.state, way.reason) == (ChannelState.CLOSED, "there are no IOMMU groups")


@pytest.mark.parametrize(
    ("symbols", "state"),
    [
        pytest.param(None, ChannelState.UNKNOWN, id="unreadable"),
        pytest.param("0 t __pci_config_acs", ChannelState.OPEN, id="known"),
        pytest.param("0 t pci_enable_acs", ChannelState.CLOSED, id="not known"),
    ],
)
def test_config_acs_is_open_where_the_kernel_has_its_code(
    tmp_path: Path, symbols: str | None, state: ChannelState
) -> None:
    tree = one_switch(tmp_path)
    if symbols is not None:
        tree.put("proc/kallsyms", symbols)

    assert channels(opened(tree)).config_acs.state is state
