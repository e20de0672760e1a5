from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.fabrics import two_switches
from trees.function import Function, gpu, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import configs
from tune.idle_nics import ENSURE, idle
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, failing, finding, surveyed
from tune.profiles import PROFILE, with_mode, with_roles
from tune.used import UsedHost

from pcietune.address import PciAddress
from pcietune.errors import ExitCode
from pcietune.model.access import HostAccess
from pcietune.model.finding import State
from pcietune.model.plan import Plan
from pcietune.model.profile import FunctionPattern, Mode, ModeName, Profile, Role, RuntimePmPolicy
from pcietune.model.protection import HostUse, Protect, Protection, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.change.plan import plan
from pcietune.tune.mode.hand_over import release_from_vfio

DRIVE = "0000:24:00.4"


def at(*addresses: str) -> tuple[PciAddress, ...]:
    return tuple(map(PciAddress.parse, addresses))


def judged(host: HostAccess, *wishes: Protect, profile: Profile = PROFILE) -> Audit:
    yardstick = Yardstick(profile, ModeName.VM, protect=wishes)
    return audit(host, surveyed(host, profile), yardstick)


def protected(host: HostAccess, *wishes: Protect) -> dict[str, str]:
    return {str(address): why for address, why in judged(host, *wishes).protection.why.items()}


def planned(host: HostAccess, *wishes: Protect, profile: Profile = PROFILE) -> Plan:
    return plan(host, judged(host, *wishes, profile=profile), while_in_use=False)


def with_drive(root: Path) -> TreeHost:
    """Return a host with an NVMe drive right below the NIC's port, beside the NIC."""
    tree = one_switch(root)
    config = ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT)
    tree.add(Function(DRIVE, config, below=NIC_PORT))
    return tree


@pytest.mark.parametrize(
    "wish",
    [
        Protect(Selector.LOCATION, "0000:20:01.0/00.0/04.0/00.0"),
        Protect(Selector.ADDRESS, NIC),
        Protect(Selector.ADDRESS, "24:00.0"),
        Protect(Selector.SLOT, "5"),
        Protect(Selector.SLOT, "bus"),
        Protect(Selector.NETDEV, "eno1"),
        Protect(Selector.MAC, "02:00:5e:10:00:01"),
        Protect(Selector.CLASS, "0207"),
    ],
    ids=str,
)
def test_each_selector_selects_the_nic_and_nothing_else(tmp_path: Path, wish: Protect) -> None:
    use = HostUse(interfaces={"eno1": at(NIC)}, slots={"5": "0000:24:00", "bus": "0000:24"})
    host = UsedHost(one_switch(tmp_path), use, {"02:00:5e:10:00:01": at(NIC)})

    assert protected(host, wish) == {NIC: f"{wish} in the settings"}


def test_the_reason_of_the_settings_is_kept(tmp_path: Path) -> None:
    wish = Protect(Selector.ADDRESS, NIC, "of the storage team")

    why = protected(UsedHost(one_switch(tmp_path)), wish)

    assert why == {NIC: f"address {NIC} in the settings: of the storage team"}


def test_a_bridge_stands_for_itself_and_all_below_it(tmp_path: Path) -> None:
    host = UsedHost(one_switch(tmp_path))

    assert list(protected(host, Protect(Selector.ADDRESS, NIC_PORT))) == [NIC_PORT, NIC]


def test_a_pf_stands_for_its_vfs(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(nic("0000:24:00.1", below=NIC_PORT), physical_function=NIC))

    assert list(protected(UsedHost(tree), Protect(Selector.ADDRESS, NIC))) == [NIC, "0000:24:00.1"]


def test_disks_default_route_and_dpus_are_protected_without_any_setting(tmp_path: Path) -> None:
    tree = with_drive(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))
    use = HostUse(
        interfaces={"bond0": at("0000:41:00.0")},
        disks={PciAddress.parse(DRIVE): ("/", "swap")},
        default_routes=("bond0", "br-ex"),
    )
    profile = with_roles({RoleName.DPU: Role(FunctionPattern(("10de:20f3",)))})
    dpus = replace(profile, roles={**profile.roles, RoleName.GPU: Role(FunctionPattern(("1:2",)))})

    why = judged(UsedHost(tree, use), profile=dpus).protection.why

    assert {str(address): phrase for address, phrase in why.items()} == {
        GPU: "is a DPU",
        DRIVE: "carries / and swap",
        "0000:41:00.0": "has the default route, by bond0",
    }


def written(found: Plan) -> list[str]:
    return [str(step.function.address) for step in found.steps]


def test_a_protected_nic_has_no_role_and_nothing_is_written_for_it(tmp_path: Path) -> None:
    host = UsedHost(two_switches(tmp_path))
    wish = Protect(Selector.ADDRESS, NIC)

    before, after = planned(host), planned(host, wish)

    assert NIC_PORT in written(before)
    assert written(after) == [port for port in written(before) if port != NIC_PORT]
    assert PciAddress.parse(NIC) not in judged(host, wish).roles


def test_a_port_above_what_is_protected_is_refused_by_name(tmp_path: Path) -> None:
    tree = with_drive(tmp_path)
    drive = PciAddress.parse(DRIVE)
    before = configs(tree)

    (held,) = planned(UsedHost(tree, HostUse(disks={drive: ("/",)}))).refused

    assert str(held.planned.function.address) == NIC_PORT
    assert held.reason == f"{DRIVE} is protected: carries /"
    assert configs(tree) == before
    assert planned(UsedHost(tree)).refused == ()


def test_a_protected_port_is_not_kept_awake_either(tmp_path: Path) -> None:
    port = replace(root_port(ROOT_PORT), attributes={"power/control": "auto"})
    keep_on = with_mode(Mode({}, runtime_pm=RuntimePmPolicy.KEEP_ON))
    host = UsedHost(one_switch(tmp_path, instead=[port]))
    audited = judged(host, profile=keep_on)

    (step,) = plan(host, audited, while_in_use=False).steps
    why = Protection({PciAddress.parse(ROOT_PORT): "carries /"})
    kept = plan(host, replace(audited, protection=why), while_in_use=False)

    assert (step.register, str(step.function.address)) == ("power/control", ROOT_PORT)
    assert [held.reason for held in kept.refused] == [f"{ROOT_PORT} is protected: carries /"]
    assert kept.steps == ()


def test_the_type_of_the_group_of_what_is_protected_is_not_switched(tmp_path: Path) -> None:
    host = UsedHost(idle(tmp_path))
    audited = judged(host, profile=ENSURE)

    why = Protection({PciAddress.parse(NIC): "carries /"})
    held = plan(host, replace(audited, protection=why), while_in_use=False)

    assert [each.planned.register for each in plan(host, audited, while_in_use=False).beyond] == [
        "iommu_group/type"
    ]
    assert held.beyond == ()
    assert {each.planned.register for each in held.refused} == {"ACSCtl", "iommu_group/type"}


def test_what_is_protected_is_not_taken_from_vfio(tmp_path: Path) -> None:
    given = [
        nic(NIC, below=NIC_PORT, driver="vfio-pci"),
        gpu(GPU, below=GPU_PORT, driver="vfio-pci"),
    ]
    host = UsedHost(two_switches(tmp_path, instead=given))

    def released(*wishes: Protect) -> list[str]:
        audited = judged(host, *wishes)
        functions = release_from_vfio(host, audited, audited.groups).functions
        return [str(function.address) for function in functions]

    assert released() == [GPU, NIC]
    assert released(Protect(Selector.ADDRESS, NIC)) == [GPU]


def test_layouts_count_what_is_protected(tmp_path: Path) -> None:
    host = UsedHost(one_switch(tmp_path))

    alone = {f.id for f in judged(host).findings if f.id.startswith("layout.")}
    kept = judged(host, Protect(Selector.ADDRESS, NIC))

    assert {f.id for f in kept.findings if f.id.startswith("layout.")} == alone
    assert kept.groups == ()


def test_a_nic_that_the_settings_protect_is_told_for_information(tmp_path: Path) -> None:
    audited = judged(UsedHost(one_switch(tmp_path)), Protect(Selector.ADDRESS, NIC, "mine"))

    told = finding(audited, "protect.left-out", NIC)
    assert (told.state, told.severity) == (State.FAIL, Severity.INFO)
    assert told.reason == (
        f"it would be of role nic, but address {NIC} in the settings: mine: it is neither judged "
        "nor tuned"
    )
    assert audited.exit_code() == ExitCode.OK


def test_a_nic_that_nobody_asked_to_protect_makes_the_host_differ(tmp_path: Path) -> None:
    use = HostUse(interfaces={"eno1": at(NIC)}, default_routes=("eno1",))

    audited = judged(UsedHost(one_switch(tmp_path), use))

    assert failing(audited) == {("protect.left-out", NIC)}
    assert audited.exit_code() == ExitCode.DIFFERS
    wish = Protect(Selector.NETDEV, "eno1")
    assert judged(UsedHost(one_switch(tmp_path / "2"), use), wish).exit_code() == ExitCode.OK


def test_on_bare_metal_what_the_host_itself_uses_is_judged_like_all_else(tmp_path: Path) -> None:
    use = HostUse(interfaces={"eno1": at(NIC)}, default_routes=("eno1",))
    host = UsedHost(one_switch(tmp_path), use)
    wish = Protect(Selector.NETDEV, "eno1")

    audited = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.BAREMETAL))
    asked = audit(host, surveyed(host), Yardstick(PROFILE, ModeName.BAREMETAL, protect=(wish,)))

    assert ("port.nic-side.ReqRedir", NIC_PORT) in failing(audited)
    assert "protect.left-out" not in {found.id for found in audited.findings}
    assert {found.id for found in asked.findings} >= {"protect.left-out"}
    assert ("port.nic-side.ReqRedir", NIC_PORT) not in failing(asked)


@pytest.mark.parametrize(
    "wish",
    [
        Protect(Selector.LOCATION, "0000:20:01.0/00.1"),
        Protect(Selector.ADDRESS, "0000:99:00.0"),
        Protect(Selector.SLOT, "6"),
        Protect(Selector.NETDEV, "eno2"),
        Protect(Selector.MAC, "02:00:5e:10:00:02"),
        Protect(Selector.CLASS, "0108"),
    ],
    ids=str,
)
def test_a_wish_that_selects_nothing_is_told(tmp_path: Path, wish: Protect) -> None:
    audited = judged(UsedHost(one_switch(tmp_path), macs={}), wish)

    told = finding(audited, "protect.unused", f"protect {wish}")
    assert (told.state, told.severity, told.found.text) == (
        State.FAIL,
        Severity.INFO,
        "selects nothing",
    )


@pytest.mark.parametrize("by", [Selector.SLOT, Selector.NETDEV, Selector.MAC])
def test_what_a_recording_does_not_tell_is_not_known(tmp_path: Path, by: Selector) -> None:
    wish = Protect(by, "5")

    audited = judged(UsedHost(one_switch(tmp_path), None), wish)

    told = finding(audited, "protect.unused", f"protect {by} 5")
    assert (told.state, told.severity, told.code) == (State.ERROR, Severity.INFO, ExitCode.OK)
    assert audited.protection.not_known == (
        "which functions carry disks of the host and its default route: not recorded",
    )
