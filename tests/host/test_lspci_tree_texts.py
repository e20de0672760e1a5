"""The tree that lspci draws of a dump is the tree that the dump's registers make."""

import subprocess
from pathlib import Path

import pytest
from host.dumped import opened, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from trees.dump import dump, one_switch_functions
from trees.fabrics import cascade_functions
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.host.temporary import temporary_directory

DUMP = dump(one_switch_functions())
# Dumps of real machines are not ours to hand on: more cases where they are at hand.
REAL = sorted((Path(__file__).parents[3] / "shared" / "dumps").glob("*.lspci*"))
ENDPOINT, BRIDGE = (0x020000, 0), (0x060400, 1)  # class, Header Type

Place = dict[PciAddress, tuple[PciAddress, ...]]


def lspci(text: str, *options: str) -> str:
    """Return what lspci makes of a dump."""
    with temporary_directory() as directory:
        file = directory / "dump"
        file.write_text(text)
        command = ["lspci", *options, "-F", str(file)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _places(host: SysfsHost) -> Place:
    return {function.address: function.ports for function in host.functions()}


def _drawn(directory: Path, text: str) -> Place:
    with opened(directory, text) as host:
        return _places(host)


def _printed(address: str, kind: tuple[int, int], buses: tuple[int, ...] = (0, 0, 0)) -> str:
    """Return one function's 64 bytes as lspci -x prints them; all ones are a VF's IDs."""
    code, header_type = kind
    data = bytearray(64)
    data[0:4] = bytes((0xB3, 0x15, 0x1B, 0x10)) if any(buses) or kind == ENDPOINT else b"\xff" * 4
    data[0x09:0x0C] = code.to_bytes(3, "little")
    data[0x0E] = header_type
    data[0x18:0x1B] = bytes(buses)
    rows = [f"{at:02x}: {data[at : at + 16].hex(' ')}\n" for at in range(0, 64, 16)]
    return "".join([f"{address} a function\n", *rows, "\n"])


@st.composite
def dumps(draw: st.DrawFn) -> str:
    """Give a dump of bridges below bridges, in several domains, some with VFs on further buses."""
    printed: list[str] = []

    def fill(domain: int, bus: int, last: int, depth: int) -> int:
        """Put functions on a bus; return the last bus number given."""
        places = draw(st.sets(st.tuples(st.integers(0, 31), st.integers(0, 7)), max_size=3))
        for device, function in sorted(places):
            address = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
            if depth == 4 or draw(st.booleans()):
                printed.append(_printed(address, ENDPOINT))
                continue
            at, secondary = len(printed), last + 1
            last = fill(domain, secondary, secondary, depth + 1)
            if draw(st.booleans()):  # as a PF's VFs, for which the kernel kept a bus
                last += 1
                printed.append(_printed(f"{domain:04x}:{last:02x}:00.2", (0x020000, 0)))
                printed[-1] = printed[-1].replace("b3 15 1b 10", "ff ff ff ff", 1)
            printed.insert(at, _printed(address, BRIDGE, (bus, secondary, last)))
        return last

    for domain in sorted(draw(st.sets(st.sampled_from([0, 1, 0x10000]), min_size=1))):
        last = 0
        for _ in range(draw(st.integers(1, 2))):  # root buses
            last = fill(domain, last, last, 0) + 1
    printed.append(_printed(f"0000:{0xFF:02x}:00.0", ENDPOINT))
    return "".join(printed)


@given(text=dumps())
@settings(max_examples=25, deadline=None)
def test_any_tree_that_lspci_draws_is_the_one_that_the_registers_make(text: str) -> None:
    with temporary_directory() as directory:
        by_registers = _drawn(directory, text)
        for options in (("-t",), ("-tv",), ("-tvnn",)):
            assert _drawn(directory, lspci(text, *options)) == by_registers


@pytest.mark.parametrize(
    "real", [None, *REAL], ids=lambda p: "made by hand" if p is None else p.stem
)
def test_the_tree_of_a_machine_is_the_one_that_its_registers_make(
    tmp_path: Path, real: Path | None
) -> None:
    text = dump(cascade_functions(second_nic=True)) if real is None else real.read_text()

    assert _drawn(tmp_path, lspci(text, "-tv")) == _drawn(tmp_path, text)


def test_a_tree_tells_ids_where_they_are_printed_and_bridges_but_no_register(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, lspci(DUMP, "-tvnn")) as host:
        root, *_, gpu, nic = host.functions()
        assert (gpu.id, nic.id) == ("10de:20f3", "15b3:101b")
        assert root.is_pci_bridge
        assert not gpu.is_pci_bridge
        with pytest.raises(ConfigSpaceError, match="lspci -t prints no registers") as unread:
            host.config(root)
    assert "lspci -D -xxxx" in unread.value.hint


@pytest.mark.parametrize("options", [("-t",), ("-tv",), ("-tvnn",)])
def test_of_a_tree_alone_it_is_not_known_which_functions_are_gpus(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with opened(tmp_path, lspci(DUMP, *options)) as host:
        host.functions()
        (problem,) = host.problems
    assert problem == (
        "what 0000:23:00.0 and 1 more may be is not told: add what lspci -D -nn prints, or better "
        "lspci -D -nn -xxxx as root"
    )


def test_a_tree_and_a_list_of_ids_are_a_host_of_which_no_register_is_known(tmp_path: Path) -> None:
    with opened(tmp_path, lspci(DUMP, "-t"), lspci(DUMP, "-nn")) as host:
        classes = [f"{function.device_class:04x} {function.id}" for function in host.functions()]
        assert not host.problems

    assert classes[0] == "0604 8086:347a"
    assert classes[-2:] == ["0302 10de:20f3", "0207 15b3:101b"]


def test_a_tree_adds_what_a_dump_of_some_functions_lacks(tmp_path: Path) -> None:
    some = "\n\n".join(DUMP.split("\n\n")[2:4])  # the switch's downstream ports

    with opened(tmp_path, lspci(DUMP, "-tvnn"), f"{some}\n") as host:
        functions = {str(function.address): function for function in host.functions()}
        assert host.config(functions["0000:22:04.0"]).read(0x106, 2) == 0x001D
        assert [str(a) for a in functions["0000:24:00.0"].ports] == [
            "0000:20:01.0",
            "0000:21:00.0",
            "0000:22:04.0",
        ]
        with pytest.raises(ConfigSpaceError):
            host.config(functions["0000:20:01.0"])


def test_what_a_tree_draws_of_a_dump_changes_nothing_of_it(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as host:
        alone = host.functions()
    with opened(tmp_path, lspci(DUMP, "-tv"), DUMP) as host:
        assert host.functions() == alone
        assert host.config(host.functions()[3]).read(0x106, 2) == 0x001D


def test_a_name_that_mail_wrapped_goes_on_in_the_next_line(tmp_path: Path) -> None:
    tree = lspci(DUMP, "-tvnn")
    wrapped = tree.replace("NVIDIA Corporation ", "NVIDIA Corporation\n")
    assert wrapped != tree

    assert _drawn(tmp_path, wrapped) == _drawn(tmp_path, DUMP)


def test_a_quoted_tree_keeps_its_columns(tmp_path: Path) -> None:
    quoted = "".join(f"> > {line}\n" for line in lspci(DUMP, "-tv").splitlines())

    assert _drawn(tmp_path, quoted) == _drawn(tmp_path, DUMP)


TREE = """\
-[0000:20]---01.0-[21-24]----00.0-[22-24]--+-00.0-[23]----00.0  a GPU
                                           \\-04.0-[24]----00.0  a NIC
"""


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        pytest.param(
            (TREE.replace("  " * 10, " "),),
            "1.txt:2: '\\\\-04.0-[24]----00.0  a NIC' does not line up with the tree above it",
            id="blanks are gone",
        ),
        pytest.param(
            (TREE.replace("-[24]----00.0", "-[24]?---00.0"),),
            "1.txt:2: '-[24]?---00.0  a NIC' is no part of a tree",
            id="a damaged line",
        ),
        pytest.param(
            (TREE.replace("04.0-[24]", "00.0-[24]"),),
            "1.txt:2: 0000:22:00.0 is here for the second time, first in line 1: these are two "
            "trees",
            id="twice",
        ),
        pytest.param(
            (f"{TREE}{' ' * 43}\\-05.0  behind the last\n",),
            "1.txt:3: '\\\\-05.0  behind the last' does not line up with the tree above it",
            id="a line behind the last",
        ),
        pytest.param(
            (TREE.replace("--+-00.0-[23]", "--+-[0001:22]-+-00.0-[23]"),),
            "1.txt:1: '[0001:22]-+-00.0-[23]----00.0  a GPU' is no part of a tree",
            id="a bus of another domain",
        ),
        pytest.param(
            (TREE.replace("[24]", "[11]"),),
            "1.txt:2: 0000:22:04.0: bus numbers primary=22, secondary=11, subordinate=11 are wrong",
            id="bus numbers that cannot be",
        ),
        pytest.param(
            (DUMP, TREE.replace("[0000", "[0001")),
            "1.txt:1: 0000:20:01.0 is not in the tree in 2.txt",
            id="another domain",
        ),
        pytest.param(
            (DUMP, TREE.replace("[23]", "[2x]").replace("[24]", "[23]").replace("[2x]", "[24]")),
            "2.txt:1: 0000:24:00.0 is below 0000:22:00.0 here, and below 0000:22:04.0 in the dump",
            id="below another bridge",
        ),
        pytest.param(
            (TREE, TREE.replace("22", "12")),
            "2.txt:1: 0000:23:00.0 stands elsewhere in 1.txt:1",
            id="two trees",
        ),
    ],
)
def test_a_tree_that_is_damaged_or_of_another_host_is_refused_with_the_place(
    tmp_path: Path, texts: tuple[str, ...], said: str
) -> None:
    assert refused(tmp_path, *texts).startswith(said)


def test_a_tree_and_a_recording_must_agree(tmp_path: Path) -> None:
    archive, text = tmp_path / "recorded.tar", tmp_path / "tree.txt"
    record(SysfsHost(HostFiles(one_switch(tmp_path / "host").root, recorded=False)), archive)

    text.write_text(TREE)
    with open_host([archive, text]) as host:
        assert len(host.functions()) == 6

    text.write_text(TREE.replace("22", "12"))
    with pytest.raises(BadInputError) as refusal, open_host([archive, text]):
        pass
    assert str(refusal.value) == f"{text}:1: 0000:12:00.0 is not in {archive}"


def test_a_list_with_paths_and_without_domains_goes_with_a_tree(tmp_path: Path) -> None:
    listing = lspci(DUMP, "-nn", "-PP")
    assert "\n20:01.0/00.0/04.0/00.0 " in listing or "\n20:01.0/21:00.0/22:04.0/24:00.0 " in listing

    with opened(tmp_path, lspci(DUMP, "-tv"), listing, "7 24:00.0\n") as host:
        nic = host.functions()[-1]
        assert (nic.id, host.state(nic).group) == ("15b3:101b", 7)


def test_addresses_with_acs_and_nothing_else_are_asked_for_bytes(tmp_path: Path) -> None:
    grepped = f"{lspci(DUMP, '-nn').splitlines()[0]}\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+\n"

    assert refused(tmp_path, grepped).startswith(
        "1.txt:1: 0000:20:01.0 has no bytes here, nor bus numbers and kinds of port"
    )


def test_a_bridge_that_leads_nowhere_is_a_bridge(tmp_path: Path) -> None:
    """Without a Secondary Bus Number, newer versions draw no brackets (ls-tree.c of pciutils)."""
    with opened(tmp_path, TREE.replace("-[24]----00.0  a NIC", "--")) as host:
        assert [f.is_pci_bridge for f in host.functions()] == [True, True, True, True, False]
