from dataclasses import replace
from pathlib import Path

from trees.config import ENDPOINT, UPSTREAM_PORT, ConfigBuilder
from trees.function import Function, nic, nvswitch, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, opened, surveyed
from tune.profiles import PROFILE, with_roles

from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.profile import FunctionPattern, Profile, Role
from pcietune.model.role_name import RoleName
from pcietune.tune.match.roles import assign_roles


class WatchedHost(SysfsHost):
    """Notes the functions whose state was asked for."""

    def __init__(self, files: HostFiles) -> None:
        super().__init__(files)
        self.looked_at: list[str] = []

    def state(self, function: PciFunction) -> FunctionState:
        self.looked_at.append(str(function.address))
        return super().state(function)


def roles(tree: TreeHost, profile: Profile = PROFILE) -> dict[str, str]:
    host = opened(tree)
    return {str(a): role for a, role in assign_roles(profile, surveyed(host), host).items()}


def test_gpu_and_nic_have_their_roles_by_id(tmp_path: Path) -> None:
    assert roles(one_switch(tmp_path)) == {"0000:23:00.0": "gpu", "0000:24:00.0": "nic"}


def test_a_storage_nic_with_the_id_of_the_rails_has_no_role(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))

    assert "0000:41:00.0" not in roles(tree)


def test_a_vf_has_no_role_of_its_own_though_its_id_fits(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    virtual = nic("0000:24:00.1", below="0000:22:04.0")
    tree.add(replace(virtual, physical_function=NIC))

    assert "0000:24:00.1" not in roles(tree)


def test_the_vfs_that_a_pf_names_are_not_looked_at(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    for number in (1, 2):
        virtual = nic(f"0000:24:00.{number}", below="0000:22:04.0")
        tree.add(replace(virtual, physical_function=NIC))
    host = WatchedHost(HostFiles(tree.root, recorded=True))

    assign_roles(PROFILE, surveyed(host), host)

    assert host.looked_at == [GPU, NIC]


def test_a_dpu_is_no_nic_though_both_patterns_fit(tmp_path: Path) -> None:
    profile = with_roles({RoleName.DPU: Role(FunctionPattern(("15b3:*",)))})

    assert roles(one_switch(tmp_path), profile)[NIC] == "dpu"


def test_the_bridges_within_a_card_are_no_nics_though_their_ids_fit(tmp_path: Path) -> None:
    profile = with_roles({RoleName.NIC: Role(FunctionPattern(("15b3:*",)))})
    tree = one_switch(tmp_path)
    bridge = ConfigBuilder("15b3:197b", 0x060400).express(UPSTREAM_PORT)
    tree.add(root_port("0000:60:01.0"), Function("0000:61:00.0", bridge, below="0000:60:01.0"))

    assert roles(tree, profile) == {GPU: "gpu", NIC: "nic"}


def test_an_nvswitch_is_no_host_bridge_by_its_class(tmp_path: Path) -> None:
    profile = with_roles({RoleName.NVSWITCH: Role(FunctionPattern((), (0x0680,)))})
    tree = one_switch(tmp_path)
    host_bridge = ConfigBuilder("8086:09a2", 0x060000).express(ENDPOINT)
    tree.add(
        root_port("0000:60:01.0"),
        nvswitch("0000:61:00.0", below="0000:60:01.0"),
        Function("0000:60:00.0", host_bridge),
    )

    found = roles(tree, profile)

    assert found["0000:61:00.0"] == "nvswitch"
    assert "0000:60:00.0" not in found


def test_a_function_that_vanished_has_no_role(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    host = opened(tree)
    fabric = surveyed(host)
    (tree.directory(NIC) / "uevent").unlink()

    assert [role.value for role in assign_roles(PROFILE, fabric, host).values()] == ["gpu"]
