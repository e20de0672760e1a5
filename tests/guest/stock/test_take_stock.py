"""What a host has for VMs, and what keeps each of it from them."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from guest.plans import a800_two_gpus, passed
from guest.stock.stocked import (
    FAR_GPU,
    FAR_NIC,
    FIRST_SWITCH,
    GPU,
    NIC,
    OTHER_NIC,
    add_vfs,
    as_wanted,
    offer,
    reasons,
    stock_of,
)
from trees.config import ENDPOINT, ConfigBuilder
from trees.fabrics import cascade, two_switches
from trees.function import ACS_CAPABLE, Function, bars, downstream_port, gpu, nic, nvswitch
from trees.groups import into_group
from trees.host import TreeHost
from trees.nodes import add_node
from tune.faults import set_word, vanish
from tune.judged import opened
from tune.profiles import PROFILE, handing_over, with_roles

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Plan
from pcietune.guest.stock.beside import Beside
from pcietune.guest.stock.take_stock import take_stock
from pcietune.guest.wish import Mig, Wish
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.hold import Hold, HoldKind
from pcietune.model.profile import Attach, FunctionPattern, ModeName, Role
from pcietune.model.protection import Protect, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Tenancy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.audit.memory import Memory
from pcietune.tune.match.survey import survey

GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
AS_NVSWITCH = Role(FunctionPattern(("10de:1af1",)))


def plan_of(address: str, path: str, *, device: str = "10de:20f3") -> Plan:
    """Return another VM's plan with one GPU."""
    given = passed("gpu0", address, path, "dp0", address)
    return msgspec.structs.replace(
        a800_two_gpus(), functions=[msgspec.structs.replace(given, id=device)]
    )


def taken(
    address: str = GPU, path: str = f"{FIRST_SWITCH}/00.0/00.0", *, device: str = "10de:20f3"
) -> Wish:
    return Wish(gpus=1, taken=(plan_of(address, path, device=device),))


def other(address: str, ids: str, class_code: int, *, below: str) -> Function:
    config = ConfigBuilder(ids, class_code).express(ENDPOINT)
    return Function(address, config, below=below, group=90, iommu="dmar0")


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return two switches as the profile wants them, with nothing in use."""
    return as_wanted(two_switches(tmp_path))


def test_all_of_an_idle_host_that_is_as_wanted_can_be_given(tree: TreeHost) -> None:
    stock = stock_of(tree)

    assert [str(each.address) for each in stock.gpus] == [GPU, FAR_GPU]
    assert [str(card.whole.address) for card in stock.cards] == [
        NIC, OTHER_NIC, FAR_NIC, "0000:45:00.0",
    ]  # fmt: skip
    assert reasons(stock) == {}


def test_a_gpu_comes_with_its_links_bars_and_switches(tmp_path: Path) -> None:
    stock = stock_of(cascade(tmp_path), wish=Wish(gpus=1, allow_failing=True))

    chosen = offer(stock, "0000:25:00.0").chosen

    assert [str(each.address) for each in chosen.switches] == ["0000:21:00.0", "0000:23:00.0"]
    assert [bar.size for bar in chosen.bars or ()] == [0x0100_0000, 0x20_0000_0000]
    links = (chosen.link, chosen.port_link, chosen.root_link)
    assert [link and link.max_speed for link in links] == ["16.0 GT/s PCIe"] * 3
    assert chosen.ats is False


def test_a_nic_with_ats_is_known_to_have_it(tree: TreeHost) -> None:
    assert offer(stock_of(tree), NIC).chosen.ats is True


def test_a_function_that_a_vm_has_open_is_not_given_and_its_neighbours_are_another_tenants(
    tmp_path: Path,
) -> None:
    host = two_switches(
        tmp_path,
        instead=[
            replace(
                gpu(GPU, below=GPU_PORT, driver="vfio-pci"),
                attributes={"enable": "1"},
            )
        ],
    )
    users = {PciAddress.parse(GPU): "qemu-system-x86 (pid 7)"}

    why = reasons(stock_of(as_wanted(host), beside=Beside(users=users)))

    assert why[GPU] == ("in use by qemu-system-x86 (pid 7)",)
    assert why[NIC] == ("its switch serves qemu-system-x86 (pid 7), maybe another tenant",)
    assert FAR_GPU not in why


def test_what_a_vm_has_open_of_which_no_plan_was_told_is_known(tmp_path: Path) -> None:
    opened_gpu = replace(
        gpu(GPU, below=GPU_PORT, driver="vfio-pci"), attributes={"enable": "1", "numa_node": "0"}
    )
    tree = as_wanted(two_switches(tmp_path, instead=[opened_gpu]))

    assert stock_of(tree).untold == (PciAddress.parse(GPU),)
    assert stock_of(tree, wish=taken()).untold == ()


def test_a_function_that_vfio_has_and_nobody_uses_is_given(tmp_path: Path) -> None:
    bound = gpu(GPU, below=GPU_PORT, driver="vfio-pci")

    stock = stock_of(as_wanted(two_switches(tmp_path, instead=[bound])))

    assert offer(stock, GPU).why_not == ()
    assert offer(stock, GPU).unbound == ()
    assert offer(stock, NIC).unbound == (PciAddress.parse(NIC),)


def test_what_another_plan_has_is_not_given(tree: TreeHost) -> None:
    assert reasons(stock_of(tree, wish=taken()))[GPU] == ("the planned VM vm0 has it",)


@pytest.mark.parametrize("shared", ["by the settings", "by option"])
def test_neighbours_of_another_vm_are_given_where_a_switch_may_be_shared(
    tree: TreeHost, shared: str
) -> None:
    wish = replace(taken(), share_switches=shared == "by option")
    tenancy = Tenancy.SHARED if shared == "by the settings" else Tenancy.SINGLE

    assert list(reasons(stock_of(tree, wish=wish, tenancy=tenancy))) == [GPU]


def test_what_only_its_neighbour_keeps_from_vms_has_the_option_for_that(tree: TreeHost) -> None:
    assert offer(stock_of(tree, wish=taken()), NIC).unless == "--share-switches"


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (plan_of("0000:99:00.0", "0000:98:00.0/00.0"), "there is no 0000:99:00.0"),
        (plan_of(GPU, f"{FIRST_SWITCH}/00.0/00.0", device="10de:2330"), "is a 10de:20f3, not"),
        (plan_of(GPU, "0000:30:01.0/00.0/00.0/00.0"), "not at 0000:30:01.0/00.0/00.0/00.0"),
    ],
)
def test_a_plan_of_another_host_is_refused(tree: TreeHost, plan: Plan, said: str) -> None:
    with pytest.raises(BadInputError, match=said) as error:
        stock_of(tree, wish=Wish(gpus=1, taken=(plan,)))

    assert error.value.hint == "make it again on this host: pcietune guest plan"


def test_what_fails_the_audit_is_not_given(tree: TreeHost) -> None:
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-

    found = offer(stock_of(tree), NIC)

    assert found.why_not == (
        f"port.nic-side.DirectTrans of {NIC_PORT} is not as wanted: DirectTrans- in ACSCtl 0x001d",
    )
    assert found.unless == "--allow-failing"


def test_what_fails_the_audit_is_given_on_request_and_said_to_fail(tree: TreeHost) -> None:
    set_word(tree, NIC_PORT, 0x001D)

    found = offer(stock_of(tree, wish=Wish(gpus=1, allow_failing=True)), NIC)

    assert found.why_not == ()
    assert len(found.failing) == 1


def test_what_is_protected_is_not_given(tree: TreeHost) -> None:
    protect = (Protect(Selector.ADDRESS, GPU, "the console"),)

    why = reasons(stock_of(tree, protect=protect))

    assert why == {GPU: (f"is protected: address {GPU} in the settings: the console",)}


def test_a_host_that_serves_itself_gives_nothing(tree: TreeHost) -> None:
    why = reasons(stock_of(tree, mode=ModeName.BAREMETAL))

    assert why[GPU][0] == "its duty is baremetal"


def test_what_the_hosts_software_uses_is_not_given(tree: TreeHost) -> None:
    beside = Beside(holds=lambda _: (Hold(HoldKind.BOND, "is a member of bond0"),))

    assert reasons(stock_of(tree, beside=beside))[NIC] == ("is a member of bond0",)


def test_what_a_recording_does_not_tell_of_a_driver_is_said_and_refuses_nothing(
    tree: TreeHost,
) -> None:
    beside = Beside(holds=lambda _: (Hold(HoldKind.NOT_KNOWN, "may be used by the host"),))

    found = offer(stock_of(tree, beside=beside), NIC)

    assert (found.why_not, found.unsure) == ((), (f"{NIC}: may be used by the host",))


def test_vfs_are_given_and_their_physical_function_is_not(tree: TreeHost) -> None:
    add_vfs(tree, NIC, NIC_PORT, 2)

    stock = stock_of(tree)

    assert reasons(stock) == {NIC: ("has 2 virtual functions on, with which vfio-pci refuses it",)}
    (port,) = stock.cards[0].ports
    assert [str(vf.address) for vf in port] == ["0000:24:00.1", "0000:24:00.2"]
    assert port[0].chosen.link == stock.cards[0].whole.chosen.link


def test_a_vf_whose_physical_function_another_plan_has_is_not_given(tree: TreeHost) -> None:
    add_vfs(tree, NIC, NIC_PORT, 1)

    why = reasons(stock_of(tree, wish=taken(NIC, f"{FIRST_SWITCH}/04.0/00.0", device="15b3:101b")))

    assert why["0000:24:00.1"] == (f"the planned VM vm0 has its physical function {NIC}",)


def test_a_vf_whose_physical_function_vfio_has_is_not_given(tmp_path: Path) -> None:
    host = as_wanted(two_switches(tmp_path, instead=[nic(NIC, below=NIC_PORT, driver="vfio-pci")]))
    add_vfs(host, NIC, NIC_PORT, 1)

    assert reasons(stock_of(host))["0000:24:00.1"] == (
        f"VFIO has its physical function {NIC}, too, and asks for a token",
    )


def test_where_vms_get_vfs_the_physical_function_is_not_given(tree: TreeHost) -> None:
    why = reasons(stock_of(tree, profile=handing_over(Attach.VF)))

    assert why[NIC] == ("VMs get its virtual functions, not itself",)


def test_where_vms_get_mediated_devices_the_physical_function_is_not_given(tree: TreeHost) -> None:
    why = reasons(stock_of(tree, profile=handing_over(Attach.MDEV)))

    assert why[NIC] == ("VMs get its mediated devices, not itself",)


def test_a_gpu_with_mediated_devices_is_not_given(tree: TreeHost) -> None:
    beside = Beside(mdevs={PciAddress.parse(GPU): ["83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"]})

    assert reasons(stock_of(tree, beside=beside))[GPU] == ("has 1 mediated device",)


def test_a_gpu_with_mig_on_is_not_given(tree: TreeHost) -> None:
    (why,) = reasons(stock_of(tree, wish=Wish(gpus=1, mig={PciAddress.parse(GPU): Mig.ON})))[GPU]

    assert why.startswith("MIG is on")


def test_a_gpus_sound_goes_along_and_keeps_it_if_it_is_protected(tree: TreeHost) -> None:
    tree.add(other("0000:23:00.1", "10de:1aef", 0x040300, below=GPU_PORT))
    protect = (Protect(Selector.ADDRESS, "0000:23:00.1"),)

    (companion,) = offer(stock_of(tree), GPU).chosen.companions
    why = reasons(stock_of(tree, protect=protect))[GPU]

    assert companion.kind is Kind.COMPANION
    assert why == ("0000:23:00.1 of its slot: is protected: address 0000:23:00.1 in the settings",)


def test_both_ports_of_a_nic_are_one_card(tree: TreeHost) -> None:
    second = replace(nic("0000:24:00.1", below=NIC_PORT), group=90, iommu="dmar0")
    tree.add(second)

    stock = stock_of(tree)

    assert len(stock.cards) == 4
    assert stock.cards[0].whole.addresses == tuple(map(PciAddress.parse, (NIC, "0000:24:00.1")))
    assert stock.cards[0].whole.chosen.companions[0].kind is Kind.NIC


def test_a_dpu_is_not_given(tree: TreeHost) -> None:
    roles = {RoleName.DPU: Role(FunctionPattern(("15b3:101b",)))}

    assert "is a DPU" in reasons(stock_of(tree, profile=with_roles(roles)))[NIC]


def test_bridges_of_an_iommu_group_tear_nothing_apart(tree: TreeHost) -> None:
    for bridge in ("0000:22:00.0", "0000:21:00.0"):
        into_group(tree, bridge, 5)  # that of the first GPU

    assert GPU not in reasons(stock_of(tree, wish=Wish(gpus=1, allow_failing=True)))


def test_a_drive_in_an_iommu_group_would_be_torn_from_it(tree: TreeHost) -> None:
    tree.add(downstream_port("0000:22:0c.0", below="0000:21:00.0", acs=(ACS_CAPABLE, 0x1D)))
    drive = other("0000:26:00.0", "144d:a80a", 0x010802, below="0000:22:0c.0")
    tree.add(replace(drive, group=_group(tree, GPU)))

    why = reasons(stock_of(tree, wish=Wish(gpus=1, allow_failing=True)))[GPU]

    assert why[0].endswith("also holds 0000:26:00.0 (144d:a80a), which would be torn from it")


def test_an_nvswitch_in_an_iommu_group_is_a_device_and_no_bridge(tree: TreeHost) -> None:
    tree.add(downstream_port("0000:22:0c.0", below="0000:21:00.0", acs=(ACS_CAPABLE, 0x1D)))
    switch = nvswitch("0000:26:00.0", below="0000:22:0c.0")
    tree.add(replace(switch, group=_group(tree, GPU), iommu="dmar0"))
    wish = Wish(gpus=1, allow_failing=True)

    stock = stock_of(tree, wish=wish, profile=with_roles({RoleName.NVSWITCH: AS_NVSWITCH}))

    assert offer(stock, GPU).mates == {PciAddress.parse("0000:26:00.0")}
    assert [str(each.address) for each in stock.nvswitches] == ["0000:26:00.0"]
    assert "would be torn" in reasons(stock_of(tree, wish=wish))[GPU][0]


def test_nics_and_gpus_of_one_iommu_group_know_each_other(tree: TreeHost) -> None:
    into_group(tree, NIC, _group(tree, GPU))
    wish = Wish(gpus=1, allow_failing=True)

    assert offer(stock_of(tree, wish=wish), GPU).mates == {PciAddress.parse(NIC)}


def test_what_no_iommu_translates_is_not_given(tree: TreeHost) -> None:
    (tree.directory(GPU) / "iommu_group").unlink()
    wish = Wish(gpus=1, allow_failing=True)

    assert reasons(stock_of(tree, wish=wish))[GPU] == ("no IOMMU translates it",)


def test_nic_firmware_that_switched_ats_off_keeps_a_nic_from_vms(tmp_path: Path) -> None:
    without = nic(NIC, below=NIC_PORT, ats=None)

    why = reasons(stock_of(as_wanted(two_switches(tmp_path, instead=[without]))))

    assert any("ats" in reason for reason in why[NIC])


def test_gpus_are_counted_by_node(tree: TreeHost) -> None:
    assert stock_of(tree).gpus_by_node() == {0: 2}


def _group(tree: TreeHost, address: str) -> int:
    return int((tree.directory(address) / "iommu_group").resolve().name)


def test_on_a_host_of_one_node_all_are_on_it_where_firmware_tells_none(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    for address, said in ((GPU, "-1"), (FAR_GPU, "7"), (NIC, "-1"), (OTHER_NIC, "1")):
        tree.config(address).with_name("numa_node").write_text(f"{said}\n")
    add_node(tree, 0, cpus="0-3")
    add_node(tree, 1, cpus="")  # of memory only

    stock = stock_of(tree)

    assert stock.gpus_by_node() == {0: 2}
    assert offer(stock, NIC).chosen.state.numa_node == 0
    assert offer(stock, OTHER_NIC).chosen.state.numa_node == 1


def test_on_a_host_of_two_nodes_nobody_knows_where_firmware_does_not_tell(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    tree.config(GPU).with_name("numa_node").write_text("-1\n")
    add_node(tree, 0, cpus="0-3")
    add_node(tree, 1, cpus="4-7")

    assert offer(stock_of(tree), GPU).node is None


def test_what_cannot_be_read_of_a_function_is_not_known(tree: TreeHost) -> None:
    (tree.directory(GPU) / "resource").unlink()
    (tree.directory(FAR_GPU) / "resource").write_text("nonsense\n" * 13)
    tree.config(GPU).write_bytes(tree.config(GPU).read_bytes()[:64])
    wish = Wish(gpus=1, allow_failing=True)

    chosen = [gpu.chosen for gpu in stock_of(tree, wish=wish).gpus]

    assert [each.bars for each in chosen] == [None, None]
    assert chosen[0].ats is None


def test_a_sleeping_nic_is_not_woken_to_be_offered(tree: TreeHost) -> None:
    (tree.directory(NIC) / "power_state").write_text("D3cold\n")
    wish = Wish(gpus=1, allow_failing=True)

    card = stock_of(tree, wish=wish).cards[0]

    assert (card.whole.chosen.link, card.whole.chosen.ats, card.total_vfs) == (None, None, None)


def test_how_many_vfs_a_nic_can_have_is_known(tmp_path: Path) -> None:
    with_vfs = nic(NIC, below=NIC_PORT)
    with_vfs.config.sriov(total=8, enabled=0, vf_device=0x101C)

    stock = stock_of(as_wanted(two_switches(tmp_path, instead=[with_vfs])))

    assert [card.total_vfs for card in stock.cards] == [8, 0, 0, 0]


def test_a_member_of_an_iommu_group_of_which_nothing_is_known_is_told(tree: TreeHost) -> None:
    group = tree.root / f"sys/kernel/iommu_groups/{_group(tree, GPU)}/devices/0000:77:00.0"
    group.symlink_to("../../../../devices/nowhere")
    wish = Wish(gpus=1, allow_failing=True)

    assert any("0000:77:00.0, not known" in why for why in reasons(stock_of(tree, wish=wish))[GPU])


def test_what_vanishes_while_it_is_looked_at_is_not_offered(tree: TreeHost) -> None:
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    audited = audit(host, fabric, Yardstick(PROFILE, ModeName.VM), Memory(None))
    vanish(tree, GPU)

    stock = take_stock(opened(tree), audited, Beside(), Wish(gpus=1))

    assert [str(gpu.address) for gpu in stock.gpus] == [FAR_GPU]


def test_whether_a_dumps_functions_are_in_use_is_not_known(tree: TreeHost) -> None:
    host = SysfsHost(HostFiles(tree.root, recorded=True, complete=False))
    fabric = survey(host, lambda functions: functions)
    audited = audit(host, fabric, Yardstick(PROFILE, ModeName.VM), Memory(None))

    stock = take_stock(host, audited, Beside(), Wish(gpus=1, allow_failing=True))

    assert "whether a VM has it is not known: a dump does not tell" in reasons(stock)[GPU]


def test_a_warning_of_the_audit_keeps_a_gpu_from_vms_too(tmp_path: Path) -> None:
    at, to = f"{0x40_0000_0000:#018x}", f"{0x5F_FFFF_FFFF:#018x}"
    nowhere = bars().replace(f"{at} {to}", f"{0:#018x} {0x1F_FFFF_FFFF:#018x}")
    without = gpu(GPU, below=GPU_PORT)
    without.attributes["resource"] = nowhere

    (why,) = reasons(stock_of(as_wanted(two_switches(tmp_path, instead=[without]))))[GPU]

    assert why.startswith("gpu.bar1 is not as wanted: ")


def test_what_vfio_has_is_not_the_hosts_softwares(tmp_path: Path) -> None:
    bound = gpu(GPU, below=GPU_PORT, driver="vfio-pci")
    beside = Beside(holds=lambda _: (Hold(HoldKind.OPEN, "is open"),))

    stock = stock_of(as_wanted(two_switches(tmp_path, instead=[bound])), beside=beside)

    assert GPU not in reasons(stock)
