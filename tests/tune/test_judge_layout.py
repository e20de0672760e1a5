from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, UPSTREAM_PORT, ConfigBuilder
from trees.fabrics import two_switches
from trees.function import Function, downstream_port, gpu, nic, nvswitch, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, finding, judged
from tune.profiles import PROFILE, with_mode

from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import FunctionPattern, Layout, Mode, Role, SwitchGroupLayout
from pcietune.model.role_name import RoleName
from pcietune.tune.audit.audit import Audit

SWITCH = "0000:20:01.0/00.0"
EACH_ONE = SwitchGroupLayout((2,), {RoleName.GPU: (1,), RoleName.NIC: (2,)})
SHAPE = Layout(cards={RoleName.GPU: (2,), RoleName.NVSWITCH: (1,)}, switch_groups=EACH_ONE)
EXPECTING = replace(
    with_mode(Mode({})),
    layout=SHAPE,
    roles={**PROFILE.roles, RoleName.NVSWITCH: Role(FunctionPattern(("10de:1af1",)))},
)


def _layout(audited: Audit) -> Sequence[Finding]:
    """Return what was judged of counts and places, but not of NUMA nodes."""
    ids = ("layout.gpu", "layout.nic", "layout.nvswitch", "layout.switch", "layout.misplaced")
    return [found for found in audited.findings if found.id.startswith(ids)]


def _expecting(tree: TreeHost, layout: Layout) -> Audit:
    return judged(tree, replace(EXPECTING, layout=layout))


def test_a_whole_host_is_as_its_kind(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    tree.add(nvswitch("0000:60:00.0"))

    audited = judged(tree, EXPECTING)

    assert {(f.id, f.subject.path): f.state for f in _layout(audited)} == {
        ("layout.gpu", "host"): State.PASS,
        ("layout.nvswitch", "host"): State.PASS,
        ("layout.switch-groups", "host"): State.PASS,
        ("layout.switch-group", SWITCH): State.PASS,
        ("layout.switch-group", "0000:40:01.0/00.0"): State.PASS,
        ("layout.misplaced", f"{SWITCH}/00.0/00.0"): State.PASS,
        ("layout.misplaced", "0000:40:01.0/00.0/00.0/00.0"): State.PASS,
    }


def test_what_is_missing_is_said_in_words_and_never_keeps_the_host_from_being_judged(
    tmp_path: Path,
) -> None:
    audited = judged(one_switch(tmp_path), EXPECTING)

    said = {(f.id, f.found.text, f.wanted.text) for f in _layout(audited) if f.reason}
    assert said == {
        ("layout.gpu", "1 GPU", "2 GPUs"),
        ("layout.nvswitch", "0 NVSwitches", "1 NVSwitch"),
        ("layout.switch-groups", "1 switch group", "2 switch groups"),
        ("layout.switch-group", "1 GPU, 1 NIC", "1 GPU, 2 NICs"),
    }
    assert finding(audited, "layout.switch-groups", "host").reason == (
        "this host has 1 switch group (0000:21:00.0) where its kind has 2 switch groups"
    )
    gpus = finding(audited, "layout.gpu", "host")
    assert gpus.state is State.FAIL
    assert (gpus.found.value, gpus.wanted.value) == ("1", "2")
    assert gpus.remedy
    assert gpus.remedy.kind is RemedyKind.HARDWARE


def test_a_profile_that_leaves_the_shape_open_asks_for_none(tmp_path: Path) -> None:
    audited = _expecting(one_switch(tmp_path), Layout({RoleName.GPU: (1,)}))

    assert [f.id for f in _layout(audited)] == ["layout.gpu"]


@pytest.mark.parametrize(
    ("wanted", "state", "text"),
    [((1, 2), State.PASS, "1 or 2 GPUs"), ((2, 4), State.FAIL, "2 or 4 GPUs")],
)
def test_one_of_several_counts_will_do(
    tmp_path: Path, wanted: tuple[int, ...], state: State, text: str
) -> None:
    audited = _expecting(one_switch(tmp_path), Layout({RoleName.GPU: wanted}))

    found = finding(audited, "layout.gpu", "host")
    assert (found.state, found.wanted.text, found.wanted.value) == (state, text, None)


def test_the_two_ports_of_a_nic_are_one_card(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(nic("0000:24:00.1", below="0000:22:04.0"))
    shape = SwitchGroupLayout((1,), {RoleName.NIC: (1,)})

    audited = _expecting(tree, Layout({RoleName.NIC: (1,)}, nic_ports=(1, 2), switch_groups=shape))

    assert {f.id: f.state for f in _layout(audited)} == {
        "layout.nic": State.PASS,
        "layout.switch-groups": State.PASS,
        "layout.switch-group": State.PASS,
        "layout.nic-ports": State.PASS,
    }


def test_a_nic_of_another_number_of_ports_is_named(tmp_path: Path) -> None:
    audited = _expecting(two_switches(tmp_path), Layout(nic_ports=(2,)))

    ports = finding(audited, "layout.nic-ports", "0000:24:00.0")
    assert (ports.state, ports.found.text, ports.wanted.text) == (State.FAIL, "1 port", "2 ports")
    assert sum(f.id == "layout.nic-ports" for f in audited.findings) == 4


def _bluefield(below: str) -> list[Function]:
    """Return a BlueField-3 of two ports, as lspci lists it: its bridges, NICs, management."""

    def bridge(address: str, above: str, port_type: int) -> Function:
        config = ConfigBuilder("15b3:197b", 0x060400).express(port_type)
        return Function(address, config, below=above, driver="pcieport")

    management = ConfigBuilder("15b3:c2d5", 0x080100).express(ENDPOINT)
    network = ConfigBuilder("15b3:a2dc", 0x020000).express(ENDPOINT)
    return [
        bridge("0000:24:00.0", below, UPSTREAM_PORT),
        _downstream("0000:25:00.0", "0000:24:00.0"),
        _downstream("0000:25:01.0", "0000:24:00.0"),
        Function("0000:26:00.0", network, below="0000:25:00.0"),
        Function("0000:26:00.1", network, below="0000:25:00.0"),
        Function("0000:26:00.2", management, below="0000:25:00.0"),
        Function("0000:27:00.0", network, below="0000:25:01.0"),
    ]


def _downstream(address: str, below: str) -> Function:
    port = downstream_port(address, below=below)
    port.config.put(0x00, bytes.fromhex("b3157b19"))
    port.config.vendor, port.config.device = 0x15B3, 0x197B
    return port


def test_all_that_is_below_the_switch_within_a_card_is_one_card(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    tree.add(
        root_port("0000:20:01.0"),
        upstream_port("0000:21:00.0", below="0000:20:01.0"),
        downstream_port("0000:22:00.0", below="0000:21:00.0"),
        downstream_port("0000:22:04.0", below="0000:21:00.0"),
        gpu(GPU, below="0000:22:00.0"),
        *_bluefield(below="0000:22:04.0"),
    )
    any_nic = replace(
        PROFILE.roles[RoleName.NIC],
        pattern=FunctionPattern(("15b3:*",), (0x0200, 0x0207)),
    )
    profile = replace(
        EXPECTING,
        roles={**EXPECTING.roles, RoleName.NIC: any_nic},
        layout=Layout(
            {RoleName.NIC: (1,)},
            nic_ports=(3,),
            switch_groups=SwitchGroupLayout((1,), {RoleName.GPU: (1,), RoleName.NIC: (1,)}),
        ),
    )

    audited = judged(tree, profile)

    assert {f.state for f in _layout(audited)} == {State.PASS}
    assert finding(audited, "layout.switch-group", SWITCH).found.text == "1 GPU, 1 NIC"
    assert finding(audited, "layout.nic-ports", "0000:26:00.0").found.text == "3 ports"


def test_a_gpu_right_below_a_root_port_is_named(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), gpu("0000:41:00.0", below="0000:40:01.0"))

    audited = judged(tree, EXPECTING)

    stray = finding(audited, "layout.misplaced", "0000:41:00.0")
    assert (stray.state, stray.found.text) == (State.FAIL, "below no switch")
    assert stray.remedy
    assert stray.remedy.kind is RemedyKind.HARDWARE
    assert finding(audited, "layout.gpu", "host").state is State.PASS
    assert finding(audited, "layout.misplaced", GPU).found.text == f"in switch group {SWITCH}"


def test_a_gpu_below_a_switch_without_a_nic_is_named_with_that_switch(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(
        root_port("0000:40:01.0"),
        upstream_port("0000:41:00.0", below="0000:40:01.0"),
        downstream_port("0000:42:00.0", below="0000:41:00.0"),
        gpu("0000:43:00.0", below="0000:42:00.0"),
    )

    stray = finding(judged(tree, EXPECTING), "layout.misplaced", "0000:43:00.0")

    assert (stray.state, stray.found.text) == (State.FAIL, "below switch 0000:40:01.0/00.0")


def test_a_switch_with_a_gpu_too_many_names_its_gpus(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    tree.add(
        downstream_port("0000:22:0c.0", below="0000:21:00.0"),
        gpu("0000:26:00.0", below="0000:22:0c.0"),
    )

    full = finding(judged(tree, EXPECTING), "layout.switch-group", SWITCH)

    assert full.state is State.FAIL
    assert full.reason == (
        "it has 2 GPUs, 2 NICs (0000:23:00.0, 0000:26:00.0) where its kind has 1 GPU, 2 NICs"
    )


@pytest.mark.parametrize(
    ("total", "judges"),
    [((), True), ((2,), True), ((2, 3), True), ((3,), False)],
    ids=["open", "as many as the groups hold", "at least as many", "more"],
)
def test_gpus_may_stand_elsewhere_only_if_the_groups_cannot_hold_all(
    tmp_path: Path, total: tuple[int, ...], *, judges: bool
) -> None:
    cards = {RoleName.GPU: total} if total else {}

    audited = _expecting(one_switch(tmp_path), Layout(cards, switch_groups=EACH_ONE))

    assert any(f.id == "layout.misplaced" for f in audited.findings) is judges
