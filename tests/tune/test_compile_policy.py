import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from trees.config import DOWNSTREAM_PORT, ENDPOINT, ConfigBuilder
from trees.fabrics import cascade
from trees.function import (
    ACS_BY_LINUX,
    ACS_CAPABLE,
    Function,
    downstream_port,
    nic,
    nvswitch,
    root_port,
)
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import set_word
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, judge, opened, surveyed
from tune.profiles import (
    BAREMETAL,
    ISOLATED,
    NIC_ROLE,
    PROFILE,
    VM,
    handing_over,
    rule,
    with_mode,
    with_ports,
    with_roles,
)
from tune.used import UsedHost

from pcietune.address import PciAddress
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.host.run.policy_lines import decode_lines, encode_lines
from pcietune.host.source import open_host
from pcietune.model.access import HostAccess
from pcietune.model.policy import FunctionDuty, HookPolicy, PortDuty
from pcietune.model.policy_plain import plain_duty, plain_policy, policy_from_plain
from pcietune.model.profile import AtsPolicy, Attach, FunctionPattern, Mode, ModeName, Profile, Role
from pcietune.model.protection import HostUse, Protect, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity
from pcietune.model.stamp import Stamp
from pcietune.model.vfio import FabricPlan, VfioPolicy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.policy.compile import compile_policy
from pcietune.tune.policy.early import early_overrides
from pcietune.tune.policy.stamps import stamps

A800 = Path(__file__).parents[2] / "pcietune/recorded_hosts/a800-sxm4-8gpu.tar.gz"
DIRECT_TRANS = 0x40
BY_LINUX = 0x1D  # SrcValid ReqRedir CmpltRedir UpstreamFwd
ISOLATING = 0x3D  # those and EgressCtrl: what a port owes that is above no NIC
ABOVE_A_NIC = 0x3F  # and TransBlk
BOOT = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"


def compiled(
    host: HostAccess, audited: Audit, *, enforce: bool = True, boot_id: str = BOOT
) -> HookPolicy:
    return compile_policy(
        host, audited, boot_id=boot_id, enforce=enforce, driver_of=lambda _: "vfio-pci"
    )


def policy_of(
    tree: TreeHost,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
    *,
    protect: tuple[Protect, ...] = (),
    waivers: tuple[Waiver, ...] = (),
) -> HookPolicy:
    host = opened(tree)
    yardstick = Yardstick(profile, mode, protect=protect, waivers=waivers, today=date(2026, 1, 1))
    return compiled(host, audit(host, surveyed(host, profile), yardstick))


def duty_of(policy: HookPolicy, suffix: str) -> FunctionDuty:
    (found,) = (d for location, d in policy.functions.items() if location.endswith(suffix))
    return found


def nic_port(policy: HookPolicy) -> PortDuty:
    """Return what the port of one_switch's NIC owes."""
    return duty_of(policy, "/04.0/00.0").ports[-1]


def words(duty: PortDuty) -> tuple[int, int, int, int]:
    return (duty.set_mask, duty.set_value, duty.require_mask, duty.require_value)


def test_of_a_recorded_a800_each_nics_port_may_be_opened_and_no_other() -> None:
    with open_host([A800]) as host:
        profile = Profiles(host.files, shipped_profiles()).load("a800-sxm4-8gpu").profile
        policy = compiled(host, judge(host, profile))

    by_id: dict[str, list[FunctionDuty]] = {}
    for duty in policy.functions.values():
        by_id.setdefault(duty.id, []).append(duty)
    assert {name: len(found) for name, found in by_id.items()} == {"10de:20f3": 8, "15b3:101b": 8}
    above = DIRECT_TRANS | ABOVE_A_NIC, DIRECT_TRANS | BY_LINUX
    for duty in by_id["15b3:101b"]:
        root, own = duty.ports
        assert words(root) == (0, 0, ABOVE_A_NIC, BY_LINUX)
        assert words(own) == (DIRECT_TRANS, DIRECT_TRANS, *above)
        assert duty.location.startswith(f"{own.location}/")
    for duty in by_id["10de:20f3"]:
        assert [words(port) for port in duty.ports] == [
            (0, 0, ABOVE_A_NIC, BY_LINUX),
            (0, 0, ISOLATING, BY_LINUX),
        ]
    assert policy.trusted == ("10de:20f3", "15b3:101b")
    assert len(policy.functions) == 16
    assert {duty.override for duty in policy.duties} == {None}


def test_in_a_cascade_the_request_control_port_is_opened_and_not_the_nics_own(
    tmp_path: Path,
) -> None:
    policy = policy_of(cascade(tmp_path, second_nic=True))

    ports = duty_of(policy, "0000:20:01.0/00.0/00.0/00.0/04.0/00.0").ports
    opened_ports = {port.location for port in ports if port.set_mask}
    assert opened_ports == {"0000:20:01.0/00.0/00.0", "0000:20:01.0/00.0/00.0/00.0/04.0"}


def test_what_is_protected_is_not_in_it_and_no_route_of_it_may_be_changed(tmp_path: Path) -> None:
    ours = nic(NIC, below=NIC_PORT, ats=None)  # with ATS it would be no reason to open it, either
    tree = one_switch(tmp_path, instead=[ours])
    tree.add(nic("0000:24:00.1", below=NIC_PORT))

    policy = policy_of(tree, protect=(Protect(Selector.ADDRESS, NIC, "ours"),))

    assert "0000:20:01.0/00.0/04.0/00.0" not in policy.functions
    duty = duty_of(policy, "/04.0/00.1")
    assert duty.ports[-1].set_mask == 0
    assert duty.ports[-1].require_value & DIRECT_TRANS


def test_a_control_that_is_hard_wired_to_be_safe_need_not_read_as_set(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE & ~0x01, 0x1C))

    policy = policy_of(one_switch(tmp_path, instead=[port]))

    assert nic_port(policy).require_mask & 0x01 == 0


def test_a_port_without_direct_trans_is_never_as_wanted(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x1F, ACS_BY_LINUX))

    duty = nic_port(policy_of(one_switch(tmp_path, instead=[port])))

    assert words(duty) == (0, 0, 0x7F, 0x5D)


def test_a_port_without_acs_is_never_as_wanted(tmp_path: Path) -> None:
    policy = policy_of(one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=None)]))

    root = duty_of(policy, "/04.0/00.0").ports[0]
    assert root.location == ROOT_PORT
    assert root.require_value == BY_LINUX


def test_what_a_site_waived_is_neither_judged_nor_set(tmp_path: Path) -> None:
    waiver = Waiver("port.nic-side.DirectTrans", None, "broken", None, date(2027, 1, 1))

    duty = nic_port(policy_of(one_switch(tmp_path), waivers=(waiver,)))

    assert words(duty) == (0, 0, ABOVE_A_NIC, BY_LINUX)


def test_what_a_profile_takes_for_information_does_not_count(tmp_path: Path) -> None:
    profile = replace(PROFILE, severities={"port.upstream.TransBlk": Severity.INFO})
    blocking = root_port(ROOT_PORT, acs=(ACS_CAPABLE, ACS_BY_LINUX | 0x02))

    policy = policy_of(one_switch(tmp_path, instead=[blocking]), profile)

    assert duty_of(policy, "/04.0/00.0").ports[0].require_mask == ISOLATING


def test_a_missing_srcvalid_alone_does_not_count(tmp_path: Path) -> None:
    port = downstream_port(GPU_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0x1C))

    policy = policy_of(one_switch(tmp_path, instead=[port]))

    assert duty_of(policy, "/00.0/00.0").ports[-1].require_mask == ISOLATING & ~0x01


def test_where_no_nic_is_trusted_no_port_is_opened_and_none_need_be(tmp_path: Path) -> None:
    profile = with_roles({RoleName.NIC: replace(NIC_ROLE, trusted=False)})
    without_ats = nic(NIC, below=NIC_PORT, ats=None)

    policy = policy_of(one_switch(tmp_path, instead=[without_ats]), profile)

    assert words(nic_port(policy)) == (0, 0, ABOVE_A_NIC, BY_LINUX)
    assert policy.trusted == ("10de:20f3",)


def test_no_port_is_opened_above_what_may_lie(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    liar = ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT).ats(0x20, 0)
    tree.add(Function("0000:24:00.4", liar, below=NIC_PORT))

    assert words(nic_port(policy_of(tree))) == (0, 0, 0x7F, 0x5D)


def test_no_isolation_is_cleared_at_run_time_that_vfio_relies_on(tmp_path: Path) -> None:
    profile = with_ports(nic_side=rule(set="ReqRedir- CmpltRedir-"))
    (tmp_path / "idle").mkdir()
    (tmp_path / "given").mkdir()

    idle = policy_of(one_switch(tmp_path / "idle"), profile)
    given = policy_of(one_switch(tmp_path / "given", driver="vfio-pci"), profile)

    assert words(nic_port(idle)) == (0x0C, 0, 0x0C, 0)
    assert words(nic_port(given)) == (0, 0, 0x0C, 0)


def test_registers_with_a_quirk_are_judged_where_they_are_and_never_written(
    tmp_path: Path,
) -> None:
    config = ConfigBuilder("8086:a110", 0x060400).express(0x4)
    config.extended(0x000D, bytes.fromhex("1d0000001d00000000000000"))
    tree = one_switch(tmp_path, instead=[Function(ROOT_PORT, config, driver="pcieport")])

    profile = with_ports(upstream=rule(set="SrcValid+"), nic_side=rule(require=ISOLATED))
    root = duty_of(policy_of(tree, profile), "/04.0/00.0").ports[0]

    assert root.dword_registers
    assert words(root) == (0, 0, 0x01, 0x01)


def test_what_corrupts_data_on_a_port_is_not_turned_on(tmp_path: Path) -> None:
    config = ConfigBuilder("12d8:2404", 0x060400).express(DOWNSTREAM_PORT)
    pericom = Function(NIC_PORT, config.acs(0x5F, 0x19), below="0000:21:00.0", driver="pcieport")
    profile = with_ports(nic_side=rule(set="ReqRedir+ CmpltRedir+"))

    duty = nic_port(policy_of(one_switch(tmp_path, instead=[pericom]), profile))

    assert words(duty) == (0x08, 0x08, 0x0C, 0x0C)


def test_what_the_host_itself_uses_on_bare_metal_is_not_in_it(tmp_path: Path) -> None:
    use = HostUse(interfaces={"eno1": (PciAddress.parse(NIC),)}, default_routes=("eno1",))
    host = UsedHost(one_switch(tmp_path), use)

    policy = compiled(host, judge(host, mode=ModeName.BAREMETAL))

    assert [duty.id for duty in policy.duties] == ["10de:20f3"]


def test_bare_metal_is_judged_alike_and_binds_nothing(tmp_path: Path) -> None:
    profile = replace(
        PROFILE,
        modes={ModeName.BAREMETAL: replace(BAREMETAL, vfio=VfioPolicy((RoleName.GPU,)))},
    )

    policy = policy_of(one_switch(tmp_path), profile, ModeName.BAREMETAL)

    assert words(nic_port(policy)) == (0, 0, 0x2C, 0)
    assert {duty.override for duty in policy.duties} == {None}


def binding(
    *roles: RoleName, fabric: FabricPlan = FabricPlan.NONE, after: str | None = None
) -> Profile:
    nvswitches = Role(FunctionPattern(("10de:1af1",)))
    modes = {ModeName.VM: replace(VM, vfio=VfioPolicy(roles, fabric, after))}
    return replace(with_roles({RoleName.NVSWITCH: nvswitches}), modes=modes)


def with_nvswitch(root: Path) -> TreeHost:
    tree = one_switch(root)
    tree.add(root_port("0000:60:01.0"), nvswitch("0000:61:00.0", below="0000:60:01.0"))
    return tree


def test_what_is_to_be_bound_gets_its_driver_and_when(tmp_path: Path) -> None:
    policy = policy_of(one_switch(tmp_path), binding(RoleName.GPU))

    gpu, its_nic = duty_of(policy, "/00.0/00.0"), duty_of(policy, "/04.0/00.0")
    assert (gpu.override, gpu.probe) == ("vfio-pci", True)
    assert (its_nic.override, its_nic.probe) == (None, False)


def test_what_a_unit_binds_later_is_not_probed(tmp_path: Path) -> None:
    policy = policy_of(one_switch(tmp_path), binding(RoleName.GPU, after="fabric.service"))

    assert duty_of(policy, "/00.0/00.0").override == "vfio-pci"
    assert not duty_of(policy, "/00.0/00.0").probe


@pytest.mark.parametrize(
    ("fabric", "bound"), [(FabricPlan.SERVICE_VM, True), (FabricPlan.HOST_FM, False)]
)
def test_an_nvswitch_outside_all_groups_is_named_where_it_is_bound(
    tmp_path: Path, *, fabric: FabricPlan, bound: bool
) -> None:
    policy = policy_of(with_nvswitch(tmp_path), binding(RoleName.NVSWITCH, fabric=fabric))

    found = policy.functions.get("0000:60:01.0/00.0")
    assert (found is not None) is bound
    assert found is None or (found.group, found.ports, found.override) == ("", (), "vfio-pci")


def test_virtual_functions_are_named_by_their_physical_functions_place(tmp_path: Path) -> None:
    profile = replace(handing_over(Attach.VF), modes=binding(RoleName.NIC).modes)
    physical = nic(NIC, below=NIC_PORT)
    physical.config.sriov(total=4, enabled=0, vf_device=0x101C)

    policy = policy_of(one_switch(tmp_path, instead=[physical]), profile)

    place = "0000:20:01.0/00.0/04.0/00.0"
    assert policy.functions[place].override is None
    of_virtual = policy.virtual_functions[place]
    assert (of_virtual.id, of_virtual.override) == ("15b3:101c", "vfio-pci")
    assert policy.duty_of("0000:20:01.0/00.0/04.0/00.1", "15b3:101c", place) is of_virtual
    assert policy.duty_of(place, "15b3:101c", None) is None
    assert "15b3:101c" in policy.trusted


def test_virtual_functions_get_the_driver_that_is_made_for_them(tmp_path: Path) -> None:
    profile = replace(handing_over(Attach.VF), modes=binding(RoleName.NIC).modes)
    physical = nic(NIC, below=NIC_PORT)
    physical.config.sriov(total=4, enabled=0, vf_device=0x101C)
    host = opened(one_switch(tmp_path, instead=[physical]))

    policy = compile_policy(
        host,
        judge(host, profile),
        boot_id=BOOT,
        enforce=True,
        driver_of=lambda f: {"15b3:101c": "mlx5_vfio_pci"}.get(f.id, "vfio-pci"),
    )

    assert {duty.override for duty in policy.virtual_functions.values()} == {"mlx5_vfio_pci"}


@pytest.mark.parametrize(
    ("mode", "needed"),
    [
        (VM, True),
        (replace(VM, ats=AtsPolicy.KERNEL_OFF), False),
        (replace(VM, ats=AtsPolicy.IGNORE), False),
    ],
)
def test_ats_is_needed_of_a_nic_where_it_is_wanted(
    tmp_path: Path, *, mode: Mode, needed: bool
) -> None:
    both = replace(mode, vfio=VfioPolicy((RoleName.GPU, RoleName.NIC)))

    policy = policy_of(one_switch(tmp_path), with_mode(both))

    assert duty_of(policy, "/04.0/00.0").needs_ats is needed
    assert not duty_of(policy, "/00.0/00.0").needs_ats


def test_ats_is_not_needed_of_a_nic_for_which_a_site_waived_it(tmp_path: Path) -> None:
    waiver = Waiver("nic.ats", None, "no GPUDirect here", "T-1", date(2026, 2, 1))
    profile = binding(RoleName.NIC)

    policy = policy_of(one_switch(tmp_path), profile, waivers=(waiver,))

    assert not duty_of(policy, "/04.0/00.0").needs_ats


def test_the_same_policy_has_the_same_name_in_every_boot(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    audited = judge(host)

    one, other = (compiled(host, audited, boot_id=boot) for boot in ("one", "other"))

    assert one.sha256 == other.sha256
    assert compiled(host, audited, enforce=False).sha256 != one.sha256


def test_what_is_written_of_a_policy_says_the_same(tmp_path: Path) -> None:
    profile = replace(handing_over(Attach.VF), modes=binding(RoleName.NIC).modes)
    physical = nic(NIC, below=NIC_PORT)
    physical.config.sriov(total=4, enabled=0, vf_device=0x101C)
    policy = policy_of(one_switch(tmp_path, instead=[physical]), profile)

    whole = policy_from_plain(json.loads(json.dumps(plain_policy(policy))))
    parts = [
        decode_lines(encode_lines(policy, id_).decode())
        for id_ in ("10de:20f3", "15b3:101b", "15b3:101c")
    ]

    assert plain_policy(whole) == plain_policy(policy)
    for part in parts:
        assert (part.boot_id, part.enforce, part.trusted) == (BOOT, True, policy.trusted)
    assert [plain_duty(d) for part in parts for d in part.functions.values()] == [
        plain_duty(duty) for duty in policy.functions.values()
    ]
    assert [plain_duty(d) for d in parts[2].duties] == [
        plain_duty(duty) for duty in policy.virtual_functions.values()
    ]


@pytest.mark.parametrize(
    "masks",
    [
        pytest.param((0x40, 0x41, 0x40, 0x40), id="sets outside its mask"),
        pytest.param((0x40, 0x40, 0x1D, 0x1D), id="sets what it does not judge"),
        pytest.param((0x20, 0x20, 0x20, 0x20), id="sets EgressCtrl"),
        pytest.param((0, 0, 0x80, 0x80), id="judges an enhanced control"),
    ],
)
def test_masks_that_nothing_may_be_written_by_are_refused(masks: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"mask|may not be written"):
        PortDuty(
            location=ROOT_PORT,
            id="8086:347a",
            set_mask=masks[0],
            set_value=masks[1],
            require_mask=masks[2],
            require_value=masks[3],
        )


def stamped(tree: TreeHost, known: dict[str, Stamp] | None = None) -> dict[str, Stamp]:
    host = opened(tree)
    audited = judge(host)
    found = stamps(host, audited, compiled(host, audited), known or {}, 7)
    return {stamp.address: stamp for stamp in found}


def test_what_is_as_wanted_is_stamped_and_nothing_else(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    assert set(stamped(tree)) == {GPU}

    set_word(tree, NIC_PORT, 0x5D)
    assert set(stamped(tree)) == {GPU, NIC}

    set_word(tree, ROOT_PORT, 0)
    assert stamped(tree) == {}


def test_a_stamp_tells_whether_vfio_came_first(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    first = stamped(tree)[GPU]
    assert (first.verified_us, first.bound_before) == (7, False)
    (tree.directory(GPU) / "vfio-dev").mkdir()

    assert stamped(tree)[GPU].bound_before is True
    assert stamped(tree, {first.address: first})[GPU].bound_before is False


def test_an_initramfs_is_told_of_what_is_bound_and_only_where_that_is_enforced(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    virtual = nic("0000:25:00.0", below=GPU_PORT)  # on another bus, at its PF's location
    tree.add(replace(virtual, physical_function=GPU))
    host = opened(tree)
    audited = judge(host, with_mode(replace(VM, vfio=VfioPolicy((RoleName.GPU,)))))

    lines = early_overrides(audited, compiled(host, audited))

    assert lines == [f"0000:20:01.0/00.0/00.0/00.0 10de:20f3 vfio-pci {GPU}"]
    assert early_overrides(audited, compiled(host, audited, enforce=False)) == []
