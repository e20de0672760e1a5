"""Whatever a site has on its command line: ours does what it says, and theirs stays as it was."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.host import TreeHost
from tune.judged import at, opened
from tune.kernel_args_hosts import (
    FIXED,
    FOREIGN_PORT,
    GPU_PORT,
    NIC_PORT,
    advised,
    with_a_foreign_switch,
)

from pcietune.errors import BadInputError
from pcietune.model.profile import ModeName
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import Semantics, Words
from pcietune.tune.kernel_args.advise import Advice
from pcietune.tune.kernel_args.command_line import pci_options, split
from pcietune.tune.kernel_args.merge import Merged, Ours, merge
from pcietune.tune.kernel_args.predict import predict

NOT_OURS = ["0000:62:00.0", "0000:60:01.0"]
OFFERED = AcsControl.decode(0x5F)

devices = st.sampled_from(
    [
        NIC_PORT, GPU_PORT, "0000:22:04.0", "22:4.0", FOREIGN_PORT, "0000:62:00.0", "60:01.0",
        "pci:1000:c010", "pci:8086:347a", "pci:0:0", "0000:99:00.0", "nonsense",
    ]
)  # fmt: skip
flags = st.text("01x", min_size=1, max_size=7)
separators = st.sampled_from([";", ";", ","])


@st.composite
def lists(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["config_acs=", "disable_acs_redir="]))
    found = name
    for number in range(draw(st.integers(1, 4))):
        entry = draw(devices)
        if name == "config_acs=":
            entry = f"{draw(flags)}@{entry}"
        found += f"{draw(separators) if number else ''}{entry}"
    return found


options = st.one_of(lists(), st.sampled_from(["realloc", "nocrs", "noats", "hpbussize=0x33"]))
words = st.one_of(
    st.lists(options, min_size=1, max_size=3).map(lambda each: f"pci={','.join(each)}"),
    st.sampled_from(["quiet", "ro", "root=/dev/sda1", 'dyndbg="file a +p; file b +p"', "--"]),
)
lines = st.lists(words, max_size=5).map(" ".join)
at_most_isolating = st.integers(0, 0x1F).map(lambda word: word & 0x1D)
"""What firmware may have left where nothing but SrcValid, ReqRedir, CmpltRedir, UpstreamFwd is."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> TreeHost:
    return with_a_foreign_switch(tmp_path_factory.mktemp("host"))


def _with(tree: TreeHost, line: str, mode: ModeName) -> Advice:
    tree.put("proc/cmdline", line)
    return advised(tree, FIXED, mode)


def _foreign(tree: TreeHost, line: Sequence[str], firmware: int) -> list[int]:
    host = opened(tree)
    before = Words(firmware, firmware | 0x1D)
    return [
        predict(line, at(host, address), OFFERED, before, Semantics.FIXED) for address in NOT_OURS
    ]


@given(line=lines, mode=st.sampled_from(ModeName))
def test_every_port_of_the_profile_comes_to_be_as_wanted(
    tree: TreeHost, line: str, mode: ModeName
) -> None:
    advice = _with(tree, line, mode)

    assert [port.owed.port.location for port in advice.ports if not port.as_wanted] == []


@given(running=lines, line=lines, mode=st.sampled_from(ModeName), firmware=at_most_isolating)
def test_so_it_does_by_a_file_that_says_otherwise_than_this_boot_does(
    tree: TreeHost, running: str, line: str, mode: ModeName, firmware: int
) -> None:
    advice = _with(tree, running, mode)

    merged = advice.merge(split(line), ()).words

    before = Words(firmware, firmware | 0x1D)
    for owed in (port.owed for port in advice.ports):
        control = predict(merged, owed.port, owed.supported, before, Semantics.FIXED)
        assert owed.is_met_by(control), owed.port.location


@given(line=lines, mode=st.sampled_from(ModeName), firmware=st.integers(0, 0x7F))
def test_no_other_port_comes_to_be_otherwise(
    tree: TreeHost, line: str, mode: ModeName, firmware: int
) -> None:
    advice = _with(tree, line, mode)

    assert _foreign(tree, advice.merged.words, firmware) == _foreign(tree, split(line), firmware)


@given(line=lines, mode=st.sampled_from(ModeName))
def test_merging_once_more_changes_nothing(tree: TreeHost, line: str, mode: ModeName) -> None:
    once = _with(tree, line, mode).merged

    again = _with(tree, once.text, mode).merged

    assert again == Merged(once.words)


@given(line=lines, mode=st.sampled_from(ModeName))
def test_one_option_of_each_kind_is_left(tree: TreeHost, line: str, mode: ModeName) -> None:
    left = pci_options(_with(tree, line, mode).merged.words)

    for name in ("config_acs=", "disable_acs_redir="):
        assert sum(option.startswith(name) for option in left) <= 1


@given(line=lines, mode=st.sampled_from(ModeName))
def test_all_other_words_and_options_stay_in_their_order(
    tree: TreeHost, line: str, mode: ModeName
) -> None:
    merged = _with(tree, line, mode).merged.words

    assert _others(merged) == _others(split(line))
    assert _plain(merged) == _plain(split(line))


def _others(line: Sequence[str]) -> list[str]:
    return [word for word in line if not word.startswith(("pci=", "iommu="))]


def _plain(line: Sequence[str]) -> list[str]:
    known = ("realloc", "nocrs", "noats", "hpbussize=0x33")
    return [option for option in pci_options(line) if option in known]


def _never(device: str) -> bool:
    return device == "never"


def test_what_is_for_init_is_not_touched_and_stays_last() -> None:
    line = ("quiet", "--", "pci=config_acs=1@1:0.0")

    merged = merge(line, Ours(config_acs=("1011101@0:1.0",)), _never)

    assert merged.words == ("quiet", "pci=config_acs=1011101@0:1.0", *line[1:])


def test_an_option_beside_a_list_keeps_its_word(tmp_path: Path) -> None:
    tree = with_a_foreign_switch(tmp_path)

    advice = _with(tree, f"ro pci=realloc,config_acs=1x111x1@{NIC_PORT},nocrs quiet", ModeName.VM)

    assert advice.merged.words[:3] == ("ro", "pci=realloc,nocrs", "quiet")
    assert advice.merged.removed == (f"pci=realloc,config_acs=1x111x1@{NIC_PORT},nocrs",)


def test_an_entry_of_another_port_stays_behind_ours(tmp_path: Path) -> None:
    tree = with_a_foreign_switch(tmp_path)
    line = f"pci=config_acs=0000000@{NIC_PORT};1x111x1@{FOREIGN_PORT}"

    (word,) = _with(tree, line, ModeName.VM).merged.words

    assert word == f"pci=config_acs=1011101@{NIC_PORT};1x111x1@{FOREIGN_PORT}"


def test_what_a_comma_cut_off_goes_where_it_is_ours_and_stays_where_it_is_not(
    tmp_path: Path,
) -> None:
    tree = with_a_foreign_switch(tmp_path)
    line = f"pci=disable_acs_redir={FOREIGN_PORT},{NIC_PORT},0000:60:01.0"

    first, ours, listed = _with(tree, line, ModeName.VM).merged.words

    assert first == "pci=0000:60:01.0"
    assert ours.startswith("pci=config_acs=")
    assert listed == f"pci=disable_acs_redir={FOREIGN_PORT}"


def test_a_quote_that_does_not_end_would_have_the_words_in_it(tmp_path: Path) -> None:
    """As next_arg() of lib/cmdline.c goes on to the end of the line."""
    tree = with_a_foreign_switch(tmp_path)

    with pytest.raises(BadInputError, match="this quote on the kernel command line does not end"):
        _with(tree, 'ro dyndbg="file a +p', ModeName.VM)


def test_a_space_that_is_none_to_the_kernel_stays_in_its_word(tmp_path: Path) -> None:
    tree = with_a_foreign_switch(tmp_path)

    assert _with(tree, "ro x=a\u2003b", ModeName.VM).merged.words[:2] == ("ro", "x=a\u2003b")


def test_of_two_words_that_are_the_same_one_is_left(tmp_path: Path) -> None:
    tree = with_a_foreign_switch(tmp_path)
    word = f"pci=config_acs=1011101@{NIC_PORT}"

    assert _with(tree, f"ro {word} {word}", ModeName.VM).merged.words == ("ro", word)
