from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.config import DOWNSTREAM_PORT, ENDPOINT, ConfigBuilder
from trees.config import ROOT_PORT as ROOT
from trees.fabrics import cascade, two_switches
from trees.function import ACS_CAPABLE, Function, downstream_port, gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import ACS_CONTROL, all_ones, configs, set_word
from tune.judged import GPU, NIC, NIC_PORT, ROOT_PORT, judge, opened
from tune.profiles import (
    GPU_ROLE,
    ISOLATED,
    PROFILE,
    handing_over,
    rule,
    with_ports,
    with_roles,
)
from tune.registers import register_writes

from pcietune.model.plan import Plan
from pcietune.model.profile import Attach, Profile
from pcietune.model.role_name import RoleName
from pcietune.tune.change.plan import plan

TOP = "0000:20:01.0/00.0"
DIRECT_TRANS = 1 << 6
ACS_CAPABILITY = ACS_CONTROL - 2


def planned(tree: TreeHost, profile: Profile = PROFILE, *, while_in_use: bool = False) -> Plan:
    host = opened(tree)
    return plan(host, judge(host, profile), while_in_use=while_in_use)


def in_use(function: Function, enable: str = "1") -> Function:
    """Return a function with another count in its sysfs ``enable``."""
    return replace(function, attributes={"enable": enable})


def test_only_direct_trans_of_the_nics_port_is_written(tmp_path: Path) -> None:
    found = planned(one_switch(tmp_path))

    (write,) = register_writes(found)
    assert str(write.function.address) == NIC_PORT
    assert (write.write.offset, write.write.width) == (ACS_CONTROL, 2)
    assert (write.write.mask, write.write.value) == (DIRECT_TRANS, DIRECT_TRANS)
    assert (write.old, write.new) == (0x001D, 0x005D)
    assert (write.group, write.register, write.wants) == (TOP, "ACSCtl", ("DirectTrans+",))
    assert write.finding_ids == ("port.nic-side.DirectTrans",)
    assert (found.deferred, found.refused, found.unreadable) == ((), (), ())


def test_a_port_gets_one_write_for_all_that_it_owes(tmp_path: Path) -> None:
    set_port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0x0018))
    profile = with_ports(nic_side=rule(set="DirectTrans+ SrcValid+ ReqRedir+ CmpltRedir+"))

    (write,) = register_writes(planned(one_switch(tmp_path, instead=[set_port]), profile))

    assert write.wants == ("DirectTrans+", "SrcValid+", "ReqRedir+")
    assert (write.write.mask, write.new) == (0x0045, 0x005D)


def test_what_is_only_required_is_never_written(tmp_path: Path) -> None:
    assert (
        planned(one_switch(tmp_path), with_ports(nic_side=rule(require="DirectTrans+"))).writes
        == ()
    )


def test_planning_writes_nothing(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    before = configs(tree)

    planned(tree)

    assert configs(tree) == before


def test_in_a_cascade_the_ports_where_paths_part_are_written(tmp_path: Path) -> None:
    assert [str(w.function.address) for w in planned(cascade(tmp_path)).writes] == [
        "0000:22:00.0",
        "0000:24:04.0",
    ]


words = st.integers(0, 0xFFFE)  # all ones is no register but a silent function
CONTROL_BITS = {
    "SrcValid": 0,
    "TransBlk": 1,
    "ReqRedir": 2,
    "CmpltRedir": 3,
    "UpstreamFwd": 4,
    "DirectTrans": 6,
}
controls = st.sets(st.sampled_from(sorted(CONTROL_BITS.keys() - {"DirectTrans"})))


@pytest.fixture(scope="module")
def one_tree(tmp_path_factory: pytest.TempPathFactory) -> TreeHost:
    return one_switch(tmp_path_factory.mktemp("host"))


@given(capability=words, control=words, on=controls, off=controls)
def test_a_write_changes_what_the_profile_sets_and_the_switch_offers_and_nothing_else(
    one_tree: TreeHost, capability: int, control: int, on: set[str], off: set[str]
) -> None:
    setting = [f"{name}+" for name in sorted(on | {"DirectTrans"})]
    setting += [f"{name}-" for name in sorted(off - on)]
    set_word(one_tree, NIC_PORT, capability, ACS_CAPABILITY)
    set_word(one_tree, NIC_PORT, control)

    found = planned(one_tree, with_ports(nic_side=rule(set=" ".join(setting))))

    expected = control
    for want in setting:
        bit = 1 << CONTROL_BITS[want[:-1]]
        if want.endswith("-"):
            expected &= ~bit
        elif capability & bit:
            expected |= bit
    assert [write.new for write in found.writes] == ([expected] if expected != control else [])
    for write in register_writes(found):
        assert write.write.mask == expected ^ control
        assert write.write.mask & ~0x5F == 0  # never EgressCtrl, nor bits 7 to 15


def test_what_a_switch_cannot_do_stops_no_other_write(tmp_path: Path) -> None:
    cannot = downstream_port("0000:22:04.0", below="0000:21:00.0", acs=(0x001F, 0x001D))
    tree = two_switches(tmp_path, instead=[cannot])

    found = planned(tree)

    assert [str(w.function.address) for w in found.writes] == [
        "0000:22:08.0",
        "0000:42:04.0",
        "0000:42:08.0",
    ]
    assert found.refused == ()


@pytest.mark.parametrize(
    "silent", ["0000:20:01.0", "0000:21:00.0", "0000:22:00.0", "0000:22:04.0", "0000:24:00.0"]
)
def test_a_group_with_an_unreadable_function_is_not_begun(tmp_path: Path, silent: str) -> None:
    tree = two_switches(tmp_path)
    all_ones(tree, silent)

    found = planned(tree)

    assert [str(w.function.address) for w in found.writes] == ["0000:42:04.0", "0000:42:08.0"]
    ((group, reason),) = found.unreadable
    assert group == TOP
    assert reason == f"{silent} does not answer: it reads as all ones"


def test_a_group_with_an_unreadable_vf_is_not_begun(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    virtual = nic("0000:24:00.1", below=NIC_PORT)
    tree.add(replace(virtual, physical_function=NIC, group=9, iommu="dmar0"))
    all_ones(tree, "0000:24:00.1")

    found = planned(tree, handing_over(Attach.VF))

    assert found.writes == ()
    assert found.unreadable == ((TOP, "0000:24:00.1 does not answer: it reads as all ones"),)


@pytest.mark.parametrize("enable", ["1", "2", "no number"])
def test_a_write_above_a_function_in_use_is_deferred(tmp_path: Path, enable: str) -> None:
    user = in_use(nic(NIC, below=NIC_PORT, driver="vfio-pci"), enable)

    found = planned(one_switch(tmp_path, instead=[user]))

    (held,) = found.deferred
    assert found.writes == ()
    assert held.reason == "in use by VFIO: 0000:24:00.0"
    assert held.planned.wants == ("DirectTrans+",)


def test_a_write_beside_a_function_in_use_is_made(tmp_path: Path) -> None:
    user = in_use(gpu(GPU, below="0000:22:00.0", driver="vfio-pci"))

    found = planned(one_switch(tmp_path, instead=[user]))

    assert [str(w.function.address) for w in found.writes] == [NIC_PORT]


def test_a_write_above_a_function_that_only_is_bound_to_vfio_is_made(tmp_path: Path) -> None:
    found = planned(one_switch(tmp_path, driver="vfio-pci"))

    assert len(found.writes) == 1


def test_while_in_use_writes_above_a_function_in_use(tmp_path: Path) -> None:
    user = in_use(nic(NIC, below=NIC_PORT, driver="vfio-pci"))

    found = planned(one_switch(tmp_path, instead=[user]), while_in_use=True)

    assert (len(found.writes), found.deferred) == (1, ())


def other(address: str, *, ats: bool, below: str = NIC_PORT) -> Function:
    """Return a function that has no role."""
    config = ConfigBuilder("1af4:1041", 0x020000).express(ENDPOINT)
    return Function(address, config.ats(0x0020, 0) if ats else config, below=below)


def test_a_port_above_an_untrusted_function_with_ats_is_not_opened(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(other("0000:24:00.1", ats=True))

    (held,) = planned(tree).refused

    assert held.reason == "0000:24:00.1 below has ATS and is not trusted"


def test_a_port_above_an_untrusted_function_without_ats_is_opened(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(other("0000:24:00.1", ats=False))

    assert len(planned(tree).writes) == 1


def test_a_port_above_a_function_that_cannot_be_read_is_not_opened(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(other("0000:24:00.1", ats=False))
    all_ones(tree, "0000:24:00.1")

    (held,) = planned(tree).refused

    assert held.reason.startswith("whether 0000:24:00.1 below has ATS cannot be read: ")


def test_in_a_cascade_a_gpu_that_is_not_trusted_closes_only_the_port_above_it(
    tmp_path: Path,
) -> None:
    with_ats = gpu("0000:25:00.0", below="0000:24:00.0")
    with_ats.config.ats(0x0020, 0)
    profile = with_roles({RoleName.GPU: replace(GPU_ROLE, trusted=False)})

    found = planned(cascade(tmp_path, instead=[with_ats]), profile)

    assert [str(w.function.address) for w in found.writes] == ["0000:24:04.0"]
    assert [str(h.planned.function.address) for h in found.refused] == ["0000:22:00.0"]


def test_a_vf_is_trusted_with_its_pf(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(replace(nic("0000:24:00.1", below=NIC_PORT), physical_function=NIC))

    assert len(planned(tree).writes) == 1


def test_a_vf_of_a_stranger_is_not_trusted(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(other("0000:24:00.1", ats=False))
    virtual = other("0000:24:00.2", ats=True)
    tree.add(replace(virtual, physical_function="0000:24:00.1"))

    (held,) = planned(tree).refused

    assert held.reason == "0000:24:00.2 below has ATS and is not trusted"


@pytest.mark.parametrize("also", ["", "DirectTrans+ "])
def test_clearing_isolation_under_vfio_is_refused_whatever_else_is_set(
    tmp_path: Path, also: str
) -> None:
    profile = with_ports(nic_side=rule(set=f"{also}ReqRedir-"))

    found = planned(one_switch(tmp_path, driver="vfio-pci"), profile)

    (held,) = found.refused
    assert found.writes == ()
    assert held.reason.startswith("VFIO relies on the isolation of 0000:24:00.0; ")


def test_clearing_isolation_where_vfio_has_nothing_is_the_profiles_to_decide(
    tmp_path: Path,
) -> None:
    profile = with_ports(nic_side=rule(set="ReqRedir-"))

    (write,) = register_writes(planned(one_switch(tmp_path), profile))

    assert (write.write.mask, write.write.value) == (0x0004, 0x0000)


def pericom(root: Path) -> TreeHost:
    """Return a host whose NIC's port must not set ReqRedir unless it stores and forwards."""
    config = ConfigBuilder("12d8:2404", 0x060400).express(DOWNSTREAM_PORT).acs(ACS_CAPABLE, 0)
    return one_switch(root, instead=[Function(NIC_PORT, config, below="0000:21:00.0")])


def test_a_control_that_an_erratum_spoils_is_refused_with_its_source(tmp_path: Path) -> None:
    (held,) = planned(pericom(tmp_path), with_ports(nic_side=rule(set="ReqRedir+"))).refused

    assert "store-and-forward" in held.reason
    assert "drivers/pci/quirks.c" in held.reason


def test_other_controls_of_such_a_port_are_set(tmp_path: Path) -> None:
    found = planned(pericom(tmp_path), with_ports(nic_side=rule(set="DirectTrans+")))

    assert (len(found.writes), found.refused) == (1, ())


def test_acs_registers_of_32_bits_are_never_written(tmp_path: Path) -> None:
    config = ConfigBuilder("8086:a110", 0x060400).express(ROOT)
    config.extended(0x000D, bytes.fromhex("1f000000 00000000"))
    port = Function(ROOT_PORT, config, driver="pcieport")
    profile = with_ports(upstream=rule(set="ReqRedir+"))

    found = planned(one_switch(tmp_path, instead=[port]), profile)

    assert (found.writes, found.refused) == ((), ())


def test_bits_that_are_set_already_are_noted_as_found(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, 0x005D)

    found = planned(tree)

    (entry,) = found.found
    assert found.writes == ()
    assert (entry.location, entry.offset) == (f"{TOP}/04.0", ACS_CONTROL)
    assert (entry.mask, entry.old, entry.new) == (DIRECT_TRANS, DIRECT_TRANS, DIRECT_TRANS)


def test_a_control_that_only_acts_as_if_set_is_not_noted_as_found(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x0040, 0x0000))

    found = planned(
        one_switch(tmp_path, instead=[port]), with_ports(nic_side=rule(set="SrcValid+"))
    )

    assert (found.found, found.writes) == ((), ())


def test_what_is_only_required_is_not_noted_as_found(tmp_path: Path) -> None:
    assert planned(one_switch(tmp_path), with_ports(nic_side=rule(require=ISOLATED))).found == ()
