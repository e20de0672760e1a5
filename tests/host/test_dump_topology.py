"""Who is upstream of whom, and what is a VF, as a dump's registers have it."""

import struct
from pathlib import Path

import pytest
from host.dumped import opened, refused
from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.function import Function, root_port

from pcietune.model.function import PciFunction

ROOT = "0000:20:01.0"


def _bridge(address: str, primary: int, secondary: int, subordinate: int) -> Function:
    config = ConfigBuilder("8086:347a", 0x060400).buses(primary, secondary, subordinate)
    return Function(address, config)


def _endpoint(address: str) -> Function:
    return Function(address, ConfigBuilder("10de:20f3", 0x030200))


def _virtual_function(address: str) -> Function:
    """Return a VF as its own registers have it: Vendor and Device ID are ffffh."""
    config = ConfigBuilder("ffff:ffff", 0x020700, subsystem="15b3:0007").express(ENDPOINT)
    return Function(address, config, below=ROOT)


def _physical_function(address: str, *, enabled: int, offset: int, stride: int) -> Function:
    config = ConfigBuilder("15b3:101b", 0x020700, subsystem="15b3:0007").express(ENDPOINT)
    config.sriov(total=8, enabled=enabled, vf_device=0x101C, at=0x100)
    config.put(0x114, struct.pack("<HH", offset, stride))  # First VF Offset, VF Stride
    return Function(address, config, below=ROOT)


def _paths(functions: list[PciFunction]) -> list[str]:
    return ["/".join(map(str, (*f.ports, f.address))) for f in functions]


def test_a_function_is_below_the_bridge_whose_secondary_bus_it_is_on(tmp_path: Path) -> None:
    functions = one_switch_functions()

    with opened(tmp_path, dump(functions)) as host:
        nic = host.functions()[-1]

    assert nic.location == "0000:20:01.0/00.0/04.0/00.0"


def test_the_order_in_a_dump_does_not_matter(tmp_path: Path) -> None:
    blocks = dump(one_switch_functions()).split("\n\n")

    with opened(tmp_path, "\n\n".join(reversed(blocks))) as host:
        nic = host.functions()[-1]

    assert nic.location == "0000:20:01.0/00.0/04.0/00.0"


def test_domains_are_apart(tmp_path: Path) -> None:
    text = dump([_bridge("0001:00:01.0", 0, 1, 1), _endpoint("0000:01:00.0")])

    with opened(tmp_path, text) as host:
        assert _paths(list(host.functions())) == ["0000:01:00.0", "0001:00:01.0"]


@pytest.mark.parametrize(
    "buses",
    [
        pytest.param((0x00, 0x00, 0x00), id="of a bridge that leads nowhere"),
        pytest.param((0x00, 0x21, 0x21), id="hard-wired Primary Bus Number"),
    ],
)
def test_numbers_that_kernels_leave_are_accepted(
    tmp_path: Path, buses: tuple[int, int, int]
) -> None:
    with opened(tmp_path, dump([_bridge(ROOT, *buses)])) as host:
        assert len(host.functions()) == 1


@pytest.mark.parametrize(
    ("buses", "said"),
    [
        ((0x21, 0x22, 0x22), "primary=21, secondary=22, subordinate=22"),
        ((0x20, 0x20, 0x22), "primary=20, secondary=20, subordinate=22"),
        ((0x20, 0x1F, 0x22), "primary=20, secondary=1f, subordinate=22"),
        ((0x20, 0x22, 0x21), "primary=20, secondary=22, subordinate=21"),
    ],
)
def test_a_bridge_as_no_kernel_leaves_it_is_refused(
    tmp_path: Path, buses: tuple[int, int, int], said: str
) -> None:
    assert refused(tmp_path, dump([_bridge(ROOT, *buses)])) == (
        f"1.txt:1: {ROOT}: bus numbers {said} are wrong for a bridge on bus 20"
    )


@pytest.mark.parametrize("missing", ["0000:21:00.0", "0000:22:00.0", "0000:22:04.0"])
def test_a_dump_that_lacks_a_bridge_between_others_is_refused(tmp_path: Path, missing: str) -> None:
    blocks = dump(one_switch_functions()).split("\n\n")

    said = refused(tmp_path, "\n\n".join(b for b in blocks if not b.startswith(missing)))

    assert "is missing, or does not answer" in said


def _without_root_port() -> str:
    return "\n\n".join(dump(one_switch_functions()).split("\n\n")[1:])


def test_a_dump_that_lacks_the_root_port_above_a_switch_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, _without_root_port()) == (
        "1.txt:1: 0000:21:00.0: the root port above this upstream port of a switch is missing, "
        "or does not answer"
    )


def test_a_root_port_that_does_not_answer_leads_to_no_switch(tmp_path: Path) -> None:
    silent = dump([Function(ROOT, ConfigBuilder("ffff:ffff", 0xFFFFFF).all_ones())])

    said = refused(tmp_path, f"{silent}\n{_without_root_port()}")

    assert said.endswith("of a switch is missing, or does not answer")


@pytest.mark.parametrize(
    ("others", "said"),
    [
        pytest.param(
            (0x20, 0x21, 0x21), "(buses 21 to 21) and 0000:20:01.0 (buses 21 to 25)", id="the same"
        ),
        pytest.param(
            (0x20, 0x22, 0x23), "(buses 22 to 23) and 0000:20:01.0 (buses 21 to 25)", id="within"
        ),
        pytest.param(
            (0x20, 0x25, 0x26), "(buses 25 to 26) and 0000:20:01.0 (buses 21 to 25)", id="partly"
        ),
    ],
)
def test_two_bridges_of_one_bus_may_not_lead_to_the_same_buses(
    tmp_path: Path, others: tuple[int, int, int], said: str
) -> None:
    text = dump([_bridge(ROOT, 0x20, 0x21, 0x25), _bridge("0000:20:02.0", *others)])

    assert f"the bridges 0000:20:02.0 {said} claim the same buses" in refused(tmp_path, text)


def test_a_bridge_may_not_lead_beyond_the_one_above_it(tmp_path: Path) -> None:
    text = dump([_bridge(ROOT, 0x20, 0x21, 0x23), _bridge("0000:21:00.0", 0x21, 0x22, 0x24)])

    assert "0000:21:00.0 (buses 22 to 24) and 0000:20:01.0 (buses 21 to 23)" in refused(
        tmp_path, text
    )


@pytest.mark.parametrize(
    ("offset", "stride", "addresses"),
    [
        pytest.param(1, 1, ["0000:24:00.1", "0000:24:00.2"], id="functions of one device"),
        pytest.param(8, 2, ["0000:24:01.0", "0000:24:01.2"], id="with a stride"),
        pytest.param(0x100, 1, ["0000:25:00.0", "0000:25:00.1"], id="on the next bus"),
    ],
)
def test_vfs_stand_where_their_pfs_registers_say(
    tmp_path: Path, offset: int, stride: int, addresses: list[str]
) -> None:
    physical = _physical_function("0000:24:00.0", enabled=2, offset=offset, stride=stride)
    text = dump([root_port(ROOT), physical, *map(_virtual_function, addresses)])

    with opened(tmp_path, text) as host:
        _, pf, *vfs = host.functions()
        state, states = host.state(pf), [host.state(vf) for vf in vfs]

    assert [str(address) for address in state.virtual_functions] == addresses
    assert [str(state.physical_function) for state in states] == ["0000:24:00.0"] * 2
    assert [vf.id for vf in vfs] == ["15b3:101c"] * 2
    assert [vf.subsystem_device for vf in vfs] == [0x0007] * 2
    assert [[str(port) for port in vf.ports] for vf in vfs] == [[ROOT]] * 2


def test_functions_beside_a_pf_that_has_no_vfs_yet_are_none_of_them(tmp_path: Path) -> None:
    physical = _physical_function("0000:24:00.0", enabled=0, offset=1, stride=1)
    other = Function("0000:24:00.1", ConfigBuilder("15b3:101b", 0x020700), below=ROOT)

    with opened(tmp_path, dump([root_port(ROOT), physical, other])) as host:
        _, pf, beside = host.functions()

        assert host.state(pf).virtual_functions == ()
        assert host.state(beside).physical_function is None


def test_a_function_that_does_not_answer_is_no_bridge(tmp_path: Path) -> None:
    silent = Function(ROOT, ConfigBuilder("ffff:ffff", 0xFFFFFF).all_ones())

    with opened(tmp_path, dump([silent, _endpoint("0000:21:00.0")])) as host:
        assert _paths(list(host.functions())) == [ROOT, "0000:21:00.0"]
