"""Which ports need an entry: those that the kernel by itself would not set as wanted.

By itself it sets SrcValid, ReqRedir, CmpltRedir and UpstreamFwd where an IOMMU is on
(drivers/pci/pci.c, pci_std_enable_acs), and of several entries the first that means a port counts.
"""

from pathlib import Path

import pytest
from trees.function import downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT as GPU_PORT_ADDRESS
from tune.judged import NIC_PORT as NIC_PORT_ADDRESS
from tune.judged import at, opened
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
from tune.profiles import ISOLATED, rule, with_ports

from pcietune.errors import BadInputError
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import Semantics, Words
from pcietune.tune.kernel_args.command_line import split
from pcietune.tune.kernel_args.predict import predict
from pcietune.tune.kernel_args.takes import Takes

OF_THE_NIC = f"1011101@{NIC_PORT}"
OF_THE_GPU = f"0011101@{GPU_PORT}"
OF_THE_ROOT = f"0011101@{ROOT_PORT}"
ALL = f"pci=config_acs={OF_THE_ROOT};{OF_THE_GPU};{OF_THE_NIC}"
ONE = f"pci=config_acs={OF_THE_NIC}"
ONLY_ISOLATED = with_ports(**dict.fromkeys(("nic_side", "gpu_side"), rule(require=ISOLATED)))
WANTED_OF_THE_GPU = 0x1D
OFFERED = AcsControl.decode(0x5F)


def _shared(root: Path, line: str = "ro") -> TreeHost:
    """Return a host with ports that are not pcietune's, which a wildcard means, too."""
    tree = with_a_foreign_switch(root)
    tree.put("proc/cmdline", line)
    return tree


def _host(root: Path, line: str = "ro", *, gpu_port: int = 0x1D) -> TreeHost:
    port = downstream_port(GPU_PORT_ADDRESS, below="0000:21:00.0", acs=(0x5F, gpu_port))
    tree = one_switch(root, instead=[port])
    tree.put("proc/cmdline", line)
    return tree


def _gpu_port_after(tree: TreeHost, words: tuple[str, ...], firmware: int) -> int:
    """Return ACS Control of the GPU's port after a boot, by what firmware leaves there."""
    before = Words(firmware, firmware | 0x1D)
    port = at(opened(tree), GPU_PORT_ADDRESS)
    return predict(words, port, OFFERED, before, Semantics.FIXED)


@pytest.mark.parametrize("lost", [0x1C, 0x19, 0x15, 0x0D], ids=lambda word: f"{word:#04x}")
def test_a_port_that_lost_one_of_its_controls_is_named(tmp_path: Path, lost: int) -> None:
    tree = _host(tmp_path, gpu_port=lost)

    assert advised(tree).words == (f"pci=config_acs={OF_THE_GPU};{OF_THE_NIC}",)


@pytest.mark.parametrize("left_on", [0x1F, 0x3D], ids=["TransBlk", "EgressCtrl"])
def test_a_port_in_which_firmware_left_too_much_on_is_named(tmp_path: Path, left_on: int) -> None:
    port = downstream_port(NIC_PORT_ADDRESS, below="0000:21:00.0", acs=(0x7F, left_on))
    profile = with_ports(nic_side=rule(require="TransBlk- EgressCtrl-"))

    advice = advised(one_switch(tmp_path, instead=[port]), profile=profile)

    assert advice.words == (f"pci=config_acs=0011101@{NIC_PORT}",)


def test_one_nic_on_a_kernel_that_takes_one_entry_gets_it(tmp_path: Path) -> None:
    advice = advised(_host(tmp_path), BROKEN)

    assert (advice.words, advice.why_not) == ((ONE,), "")
    assert [port.control for port in advice.ports] == [0x1D, 0x1D, 0x5D]


@pytest.mark.parametrize("takes", [FIXED, BROKEN, OLD, UNKNOWN], ids=lambda takes: takes.kernel)
def test_where_the_kernel_alone_sets_all_no_kernel_lacks_anything(
    tmp_path: Path, takes: Takes
) -> None:
    advice = advised(_host(tmp_path), takes, profile=ONLY_ISOLATED)

    assert (advice.words, advice.why_not, advice.notes) == ((), "", ())
    assert all(port.as_wanted for port in advice.ports)


def test_what_pcietune_may_have_cleared_itself_since_boot_is_named(tmp_path: Path) -> None:
    """Of what only a profile's ``set`` has written, the kernel does nothing at the next boot."""
    profile = with_ports(nic_side=rule(set="TransBlk-"))

    advice = advised(_host(tmp_path), profile=profile)

    assert advice.words == (f"pci=config_acs=0011101@{NIC_PORT}",)


@pytest.mark.parametrize(
    "word",
    [
        "config_acs=0000000@pci:0:0",
        "config_acs=xxxxxxx@pci:0:0",
        "config_acs=xxxxxxx@pci:8086:0;xxxxxxx@pci:1000:0",
        "disable_acs_redir=pci:0:0",
    ],
)
@pytest.mark.parametrize("firmware", [0x00, 0x1D])
def test_a_wildcard_of_the_site_makes_no_port_wrong(
    tmp_path: Path, word: str, firmware: int
) -> None:
    tree = _shared(tmp_path, f"ro pci={word}")

    advice = advised(tree)

    ours = f"{OF_THE_ROOT};{OF_THE_GPU};{OF_THE_NIC}"
    (entries,) = [word for word in advice.merged.words if word.startswith("pci=config_acs=")]
    assert entries.startswith(f"pci=config_acs={ours}")
    assert _gpu_port_after(tree, advice.merged.words, firmware) == WANTED_OF_THE_GPU


@pytest.mark.parametrize("firmware", [0x00, 0x1D])
def test_a_wildcard_that_only_a_boot_loaders_file_has_makes_no_port_wrong(
    tmp_path: Path, firmware: int
) -> None:
    tree = _shared(tmp_path)
    wildcard = "0000000@pci:0:0"

    merged = advised(tree).merge(("ro", f"pci=config_acs={wildcard}"), ())

    ours = f"{OF_THE_ROOT};{OF_THE_GPU};{OF_THE_NIC}"
    assert merged.words == ("ro", f"pci=config_acs={ours};{wildcard}")
    assert _gpu_port_after(tree, merged.words, firmware) == WANTED_OF_THE_GPU


def test_a_wildcard_of_a_file_leaves_a_kernel_that_takes_one_entry_no_room(tmp_path: Path) -> None:
    advice = advised(_shared(tmp_path), BROKEN)

    with pytest.raises(BadInputError, match="nothing is written: it takes more than one entry"):
        advice.merge(("ro", "pci=config_acs=0000000@pci:0:0"), ())


@pytest.mark.parametrize("entry", ["0000000", "xxxxxxx"])
def test_what_this_boot_says_of_a_port_is_replaced_as_it_may_be_right_by_that_alone(
    tmp_path: Path, entry: str
) -> None:
    """Firmware may have left TransBlk on, which the entry cleared: nobody can tell any more."""
    tree = _host(tmp_path, f"ro pci=config_acs={entry}@{GPU_PORT}")

    advice = advised(tree)

    assert advice.merged.words == ("ro", f"pci=config_acs={OF_THE_GPU};{OF_THE_NIC}")
    assert _gpu_port_after(tree, advice.merged.words, firmware=0x1F) == WANTED_OF_THE_GPU


def test_words_that_named_every_port_stay_as_they_are(tmp_path: Path) -> None:
    advice = advised(_host(tmp_path, f"ro {ALL}"))

    assert advice.merged.words == ("ro", ALL)
    assert (advice.merged.added, advice.merged.removed) == ((), ())


def test_what_a_file_says_of_a_port_that_came_up_right_without_it_is_taken_out(
    tmp_path: Path,
) -> None:
    """This boot did not have it, and the kernel alone set the port as wanted: so it will again."""
    tree = _host(tmp_path)

    merged = advised(tree).merge(("ro", f"pci=config_acs=0000000@{GPU_PORT}"), ())

    assert merged.words == ("ro", ONE)
    assert _gpu_port_after(tree, split("ro"), firmware=0x00) == WANTED_OF_THE_GPU
    assert _gpu_port_after(tree, merged.words, firmware=0x00) == WANTED_OF_THE_GPU


def test_what_apply_set_since_boot_does_not_make_the_kernel_set_it(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT_ADDRESS, below="0000:21:00.0", acs=(0x5F, 0x5D))

    assert advised(one_switch(tmp_path, instead=[port])).words == (ONE,)
