from dataclasses import replace
from pathlib import Path

from trees.fabrics import two_switches
from trees.function import nvswitch
from trees.machines import one_switch
from tune.judged import finding, judged
from tune.profiles import PROFILE, with_mode

from pcietune.model.finding import RemedyKind, State
from pcietune.model.profile import (
    FunctionPattern,
    Layout,
    Mode,
    Role,
    RoleName,
    SwitchGroupLayout,
)

SHAPE = Layout(
    cards={RoleName.GPU: (2,), RoleName.NVSWITCH: (1,)},
    switch_groups=SwitchGroupLayout((2,), {RoleName.GPU: (1,), RoleName.NIC: (2,)}),
)
EXPECTING = replace(
    with_mode(Mode({})),
    layout=SHAPE,
    roles={**PROFILE.roles, RoleName.NVSWITCH: Role(FunctionPattern(("10de:1af1",)))},
)


def test_a_whole_host_is_as_its_kind(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    tree.add(nvswitch("0000:60:00.0"))

    audited = judged(tree, EXPECTING)

    assert {(f.id, f.subject.path): f.state for f in audited.findings} == {
        ("layout.gpu", "host"): State.PASS,
        ("layout.nvswitch", "host"): State.PASS,
        ("layout.switch-groups", "host"): State.PASS,
        ("layout.switch-group", "0000:20:01.0/00.0"): State.PASS,
        ("layout.switch-group", "0000:40:01.0/00.0"): State.PASS,
        ("layout.misplaced", "0000:20:01.0/00.0/00.0/00.0"): State.PASS,
        ("layout.misplaced", "0000:40:01.0/00.0/00.0/00.0"): State.PASS,
    }


def test_what_is_missing_is_said_in_words_and_never_keeps_the_host_from_being_judged(
    tmp_path: Path,
) -> None:
    audited = judged(one_switch(tmp_path), EXPECTING)

    said = {(f.id, f.found.text, f.wanted.text) for f in audited.findings if f.reason}
    assert said == {
        ("layout.gpu", "1 GPU", "2 GPUs"),
        ("layout.nvswitch", "0 NVSwitches", "1 NVSwitch"),
        ("layout.switch-groups", "1 switch group", "2 switch groups"),
        ("layout.switch-group", "1 GPU, 1 NIC", "1 GPU, 2 NICs"),
    }
    gpus = finding(audited, "layout.gpu", "host")
    assert gpus.state is State.FAIL
    assert (gpus.found.value, gpus.wanted.value) == ("1", "2")
    assert gpus.remedy
    assert gpus.remedy.kind is RemedyKind.HARDWARE


def test_a_profile_that_leaves_the_shape_open_asks_for_none(tmp_path: Path) -> None:
    profile = replace(EXPECTING, layout=Layout({RoleName.GPU: (1,)}))

    assert [f.id for f in judged(one_switch(tmp_path), profile).findings] == ["layout.gpu"]
