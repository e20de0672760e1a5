"""Which entries are written, by what the kernel takes and what else the host has."""

from datetime import date
from pathlib import Path

import pytest
from trees.config import DOWNSTREAM_PORT, ConfigBuilder
from trees.function import Function, downstream_port, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT as GPU_PORT_ADDRESS
from tune.judged import NIC_PORT as NIC_PORT_ADDRESS
from tune.judged import opened, surveyed
from tune.kernel_args_hosts import (
    BROKEN,
    FIXED,
    GPU_PORT,
    NIC_PORT,
    OLD,
    ROOT_PORT,
    UNKNOWN,
    advised,
    with_a_foreign_switch,
)
from tune.profiles import PROFILE, rule, with_ports

from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.model.profile import ModeName, Profile
from pcietune.model.settings import Waiver
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit
from pcietune.tune.kernel_args.advise import advise
from pcietune.tune.kernel_args.takes import Takes

# Rightmost is SrcValid, leftmost DirectTrans: what Linux sets by itself (pci_std_enable_acs), which
# all three ports have, and DirectTrans at the NIC's port, which Linux never sets.
WORD = f"pci=config_acs=1011101@{NIC_PORT}"
# GPU's port lost ReqRedir, bit 2.
TWO_WORDS = f"pci=config_acs=0011101@{GPU_PORT};1011101@{NIC_PORT}"
NIC_SIDE = with_ports(nic_side=rule(set="DirectTrans+"))


def test_a_port_that_the_kernel_alone_would_not_set_is_named_by_path_with_every_flag(
    tmp_path: Path,
) -> None:
    advice = advised(one_switch(tmp_path))

    assert advice.words == (WORD,)
    assert [port.control for port in advice.ports] == [0x1D, 0x1D, 0x5D]
    assert advice.why_not == ""


@pytest.mark.parametrize("takes", [FIXED, OLD], ids=["6.16", "6.8"])
def test_redirection_alone_is_turned_off_by_the_option_that_every_kernel_knows(
    tmp_path: Path, takes: Takes
) -> None:
    advice = advised(one_switch(tmp_path), takes, ModeName.BAREMETAL)

    assert advice.words == (f"pci=disable_acs_redir={ROOT_PORT};{GPU_PORT};{NIC_PORT}", "iommu=pt")
    assert all(port.as_wanted for port in advice.ports)


def test_a_broken_kernel_that_would_set_all_else_by_it_gets_config_acs(tmp_path: Path) -> None:
    profile = with_ports(nic_side=rule(require="ReqRedir-"))

    advice = advised(one_switch(tmp_path), BROKEN, profile=profile)

    assert advice.words == (f"pci=config_acs=0011001@{NIC_PORT}",)
    assert advice.notes == ("this kernel leaves at a 0 what firmware set",)


def test_one_entry_by_id_does_where_every_port_of_the_id_owes_the_same(tmp_path: Path) -> None:
    advice = advised(one_switch(tmp_path), BROKEN, profile=_opening(both=True))

    assert advice.words == ("pci=config_acs=1011101@pci:1000:c010",)
    assert {port.control for port in advice.ports} == {0x5D}


@pytest.mark.parametrize("takes", [FIXED, UNKNOWN], ids=["6.16", "unknown"])
def test_an_id_that_another_switch_has_too_is_not_used(tmp_path: Path, takes: Takes) -> None:
    advice = advised(with_a_foreign_switch(tmp_path), takes, profile=_opening(both=True))

    assert advice.words == (f"pci=config_acs=1011101@{GPU_PORT};1011101@{NIC_PORT}",)


def test_an_id_whose_ports_owe_different_words_is_not_used(tmp_path: Path) -> None:
    advice = advised(one_switch(tmp_path), profile=_opening(both=False))

    assert advice.words == (WORD,)


def test_a_port_of_the_id_that_cannot_be_read_may_be_changed_so_the_id_is_not_used(
    tmp_path: Path,
) -> None:
    tree = with_a_foreign_switch(tmp_path)
    tree.config("0000:62:00.0").write_bytes(bytes([0xFF]) * 4096)

    advice = advised(tree, profile=_opening(both=True))

    assert "pci:1000" not in advice.words[0]


def test_what_a_broken_kernel_cannot_have_is_said_with_what_then(tmp_path: Path) -> None:
    tree = _with_redirection_lost(tmp_path)
    tree.put("proc/cmdline", f"ro pci=config_acs=1x111x1@{NIC_PORT}")

    advice = advised(tree, BROKEN)

    assert advice.words == ()
    assert advice.merged.text == f"ro pci=config_acs=1x111x1@{NIC_PORT}"
    assert advice.why_not == (
        "it takes more than one entry (2 here), and kernels 6.11 to 6.14 take only the first: use "
        "kernel 6.15, 6.14.2, 6.13.11, 6.12.23 or later; until then `pcietune apply` sets the "
        "registers after each boot"
    )


def test_the_sites_own_entry_leaves_a_broken_kernel_no_room(tmp_path: Path) -> None:
    tree = with_a_foreign_switch(tmp_path)
    tree.put("proc/cmdline", "ro pci=config_acs=1x111x1@0000:62:00.0")

    advice = advised(tree, BROKEN, profile=NIC_SIDE)

    assert "more than one entry (1 here, beside those of other ports)" in advice.why_not


@pytest.mark.parametrize("takes", [FIXED, BROKEN, OLD, UNKNOWN], ids=lambda takes: takes.kernel)
def test_where_nothing_is_owed_no_kernel_lacks_anything(tmp_path: Path, takes: Takes) -> None:
    tree = one_switch(tmp_path)
    tree.put("proc/cmdline", "ro pci=config_acs=1x111x1@0000:22:04.0")

    advice = advised(tree, takes, profile=with_ports())

    assert (advice.words, advice.why_not) == ((), "")
    assert advice.merged.text == "ro pci=config_acs=1x111x1@0000:22:04.0"


def test_an_old_kernel_cannot_set_direct_trans(tmp_path: Path) -> None:
    assert "use kernel 6.11 or later" in advised(one_switch(tmp_path), OLD).why_not


def test_where_the_fix_is_not_known_several_entries_come_with_a_doubt(tmp_path: Path) -> None:
    advice = advised(_with_redirection_lost(tmp_path), UNKNOWN)

    assert advice.words == (TWO_WORDS,)
    assert "9cf8a952d57b" in advice.notes[0]


def test_where_the_fix_is_not_known_one_entry_raises_no_doubt(tmp_path: Path) -> None:
    assert advised(one_switch(tmp_path), UNKNOWN).notes == ()


def test_what_the_profile_does_not_name_stays_as_it_is(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_nic_port(control=0x0011)])

    assert advised(tree, profile=NIC_SIDE).words == (f"pci=config_acs=1010001@{NIC_PORT}",)


def test_what_a_port_does_not_offer_is_not_asked_of_it(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_nic_port(capability=0x001F, control=0x0019)])

    advice = advised(tree)

    # By id: the GPU's port owes the same.
    assert advice.words == ("pci=config_acs=0011101@pci:1000:c010",)


def test_a_port_that_lacks_nothing_that_it_offers_needs_no_words(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_nic_port(capability=0x001F)])

    assert advised(tree).words == ()


def test_a_port_without_acs_gets_no_entry(tmp_path: Path) -> None:
    tree = _with_redirection_lost(tmp_path, root_port(ROOT_PORT, acs=None))

    assert advised(tree).words == (TWO_WORDS,)


def test_a_port_whose_registers_the_kernel_does_not_set_is_left_out_and_named(
    tmp_path: Path,
) -> None:
    config = ConfigBuilder("8086:a110", 0x060400).express(DOWNSTREAM_PORT).acs(0x5F, 0x1D)
    quirky = Function(NIC_PORT_ADDRESS, config, below="0000:21:00.0", driver="pcieport")

    advice = advised(_with_redirection_lost(tmp_path, quirky))

    assert advice.words == (f"pci=config_acs=0011101@{GPU_PORT}",)
    assert advice.notes[0].startswith(f"{NIC_PORT_ADDRESS}: the kernel heeds no option here")


def test_source_validation_that_is_broken_is_not_turned_on(tmp_path: Path) -> None:
    config = ConfigBuilder("111d:80b5", 0x060400).express(DOWNSTREAM_PORT).acs(0x5F, 0x1C)
    broken = Function(NIC_PORT_ADDRESS, config, below="0000:21:00.0", driver="pcieport")

    advice = advised(one_switch(tmp_path, instead=[broken]))

    assert f"1011100@{NIC_PORT}" in advice.words[0]


def test_a_port_that_does_not_answer_leaves_nothing_to_advise(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.config(GPU_PORT_ADDRESS).write_bytes(bytes([0xFF]) * 4096)

    with pytest.raises(ConfigSpaceError, match=f"what {GPU_PORT_ADDRESS} is to have is not known"):
        advised(tree)


def test_who_may_not_read_registers_is_told_to_be_root(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.config(GPU_PORT_ADDRESS).write_bytes(tree.config(GPU_PORT_ADDRESS).read_bytes()[:64])

    with pytest.raises(NotPermittedError):
        advised(tree)


def test_a_command_line_that_is_not_known_cannot_be_merged_with(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tmp_path / "proc/cmdline").unlink()

    with pytest.raises(BadInputError, match="the kernel command line is not known"):
        advised(tree)


def test_a_line_of_exactly_what_the_kernel_keeps_is_taken(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    room = 2047 - len(WORD) - 1
    tree.put("proc/cmdline", "x" * room)

    assert advised(tree).length == 2047


def test_a_byte_more_is_refused_with_the_number(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("proc/cmdline", "x" * (2048 - len(WORD) - 1))

    with pytest.raises(BadInputError, match="would have 2048 bytes, and the kernel keeps 2047"):
        advised(tree)


def test_ports_are_named_by_id_where_paths_leave_no_room(tmp_path: Path) -> None:
    opened = rule(set="DirectTrans+")
    profile = with_ports(gpu_side=opened, nic_side=opened, upstream=rule(require="SrcValid+"))
    tree = one_switch(tmp_path, instead=[root_port(ROOT_PORT, acs=(0x001F, 0x001C))])
    tree.put("proc/cmdline", "x" * 1960)

    advice = advised(tree, profile=profile)

    assert advice.words == (f"pci=config_acs=0011101@{ROOT_PORT};1011101@pci:1000:c010",)
    assert all(port.as_wanted for port in advice.ports)


def _with_redirection_lost(root: Path, *instead: Function) -> TreeHost:
    """Return a host whose GPU's port has no ReqRedir."""
    port = downstream_port(GPU_PORT_ADDRESS, below="0000:21:00.0", acs=(0x005F, 0x0019))
    return one_switch(root, instead=[port, *instead])


def _opening(*, both: bool) -> Profile:
    opened = rule(set="DirectTrans+")
    return with_ports(nic_side=opened, gpu_side=opened if both else rule(require="SrcValid+"))


def _nic_port(*, capability: int = 0x005F, control: int = 0x001D) -> Function:
    return downstream_port(NIC_PORT_ADDRESS, below="0000:21:00.0", acs=(capability, control))


def test_what_is_waived_is_left_out(tmp_path: Path) -> None:
    waivers = tuple(
        Waiver(f"port.upstream.{control}Redir", None, "known", None, date.max)
        for control in ("Req", "Cmplt")
    )
    host = opened(one_switch(tmp_path))
    yardstick = Yardstick(PROFILE, ModeName.BAREMETAL, waivers=waivers)

    advice = advise(host, audit(host, surveyed(host), yardstick), FIXED)

    assert advice.words == (f"pci=disable_acs_redir={GPU_PORT};{NIC_PORT}", "iommu=pt")


def test_what_a_list_would_clear_besides_is_left_on_by_an_entry(tmp_path: Path) -> None:
    profile = with_ports(nic_side=rule(require="ReqRedir-"))

    advice = advised(one_switch(tmp_path), FIXED, profile=profile)

    assert advice.words == (f"pci=config_acs=0011001@{NIC_PORT}",)
