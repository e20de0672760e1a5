from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened

from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.severity import Severity
from pcietune.tune.audit.judge_kernel import judge_kernel


def _groups(tree: TreeHost) -> Finding:
    (found,) = (f for f in judge_kernel(opened(tree)) if f.id == "kernel.groups")
    return found


def _of_release(tree: TreeHost, release: str) -> Finding:
    tree.put("proc/sys/kernel/osrelease", release)
    return _groups(tree)


def _lints(tree: TreeHost, cmdline: str, release: str = "6.16.1") -> list[Finding]:
    tree.put("proc/sys/kernel/osrelease", release)
    tree.put("proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro {cmdline} quiet")
    return [f for f in judge_kernel(opened(tree)) if f.id == "kernel.cmdline"]


# The releases: changelogs of kernel.org, and the reverts of bugzilla 221234.


@pytest.mark.parametrize(
    "release", ["6.12.75", "6.12.82", "6.6.134", "6.1.165", "6.1.168", "5.15.202", "5.10.252"]
)
def test_a_release_that_groups_before_acs_is_on_is_named(tmp_path: Path, release: str) -> None:
    found = _of_release(one_switch(tmp_path), release)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert "form groups before ACS is on: functions" in found.reason
    assert found.remedy
    assert found.remedy.kind is RemedyKind.SOFTWARE


@pytest.mark.parametrize(
    "release",
    [
        "6.12.74",
        "6.12.83",
        "6.12.117+deb13-amd64",
        "6.6.135",
        "6.1.169",
        "5.15.203",
        "5.10.253",
        "6.18.16",
        "7.0.0",
        "6.8.0-45-generic",
    ],
)
def test_the_releases_beside_them_are_as_wanted(tmp_path: Path, release: str) -> None:
    assert _of_release(one_switch(tmp_path), release).state is State.PASS


def test_a_kernel_with_patches_of_its_maker_only_may_be_one(tmp_path: Path) -> None:
    found = _of_release(one_switch(tmp_path), "6.12.77-1-lts")

    assert found.state is State.FAIL
    assert "unless its maker mended it" in found.reason


def test_a_distributions_own_number_says_neither(tmp_path: Path) -> None:
    found = _of_release(one_switch(tmp_path), "6.1.0-40-amd64")

    assert (found.state, found.severity) == (State.ERROR, Severity.INFO)
    assert "6.1.165 to 6.1.168" in found.reason


def test_a_release_that_is_not_known_is_never_as_wanted(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tmp_path / "proc/sys/kernel/osrelease").unlink()

    assert (_groups(tree).state, _groups(tree).severity) == (State.ERROR, Severity.INFO)


def test_without_an_iommu_there_are_no_groups_to_form(tmp_path: Path) -> None:
    found = _of_release(one_switch(tmp_path, iommu=False), "6.12.77")

    assert (found.state, found.severity) == (State.NOT_APPLICABLE, Severity.INFO)


@pytest.mark.parametrize(
    ("cmdline", "token", "reason"),
    [
        pytest.param("pci=noacs", "pci=noacs", "no such option", id="A01"),
        pytest.param(
            "pci=config_acs=10x", "10x", "it names no device, so the kernel drops it", id="B10"
        ),
        pytest.param(
            "pci=disable_acs_redir=0000:0c:10.0,0000:0a:00.0,0000:16:08.0",
            "0000:0a:00.0,0000:16:08.0",
            "a comma ends the list of devices",
            id="A22",
        ),
        pytest.param(
            "pci=config_acs=1011101@pci:1000:c010,1011101@0000:22:04.0",
            "1011101@0000:22:04.0",
            "a comma ends the list of devices",
            id="comma between entries",
        ),
        pytest.param(
            "pci=config_acs=1111101@0000:22:04.0 pci=realloc,config_acs=1011101@0000:22:00.0",
            "pci=config_acs=1111101@0000:22:04.0",
            "only the last one counts",
            id="two words",
        ),
        pytest.param(
            "iommu=off intel_iommu=on",
            "iommu=off intel_iommu=on",
            "turns every IOMMU off",
            id="off",
        ),
        pytest.param(
            "pci=config_acs=10000000@pci:0:0", "10000000@pci:0:0", "at most seven", id="bit 7"
        ),
    ],
)
def test_a_word_without_its_effect_is_named(
    tmp_path: Path, cmdline: str, token: str, reason: str
) -> None:
    (found,) = _lints(one_switch(tmp_path), cmdline)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert found.found.value == token
    assert reason in found.reason


def test_noats_is_named_as_what_it_does(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), "pci=noats")

    assert (found.state, found.severity) == (State.FAIL, Severity.INFO)
    assert "turns no ATS on, and TransBlk at every port" in found.reason


def test_an_entry_without_a_device_is_shown_with_one(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), "pci=config_acs=10x")

    assert found.remedy
    assert "10x@pci:0:0" in found.remedy.command


@pytest.mark.parametrize(
    ("cmdline", "token"),
    [
        pytest.param("amd_iommu=on iommu=pt", "amd_iommu=on", id="A33"),
        pytest.param(
            "intel_iommu=on amd_iommu=on iommu=pt", "intel_iommu=on amd_iommu=on", id="E14"
        ),
        pytest.param("pci=config_acs=1xxxxxx@pci:0:0", "1xxxxxx@pci:0:0", id="x"),
    ],
)
def test_a_harmless_word_is_only_information(tmp_path: Path, cmdline: str, token: str) -> None:
    (found,) = _lints(one_switch(tmp_path), cmdline)

    assert (found.state, found.severity, found.found.value) == (State.FAIL, Severity.INFO, token)


@pytest.mark.parametrize(
    "cmdline",
    [
        "intel_iommu=on iommu=pt",
        "amd_iommu=fullflush",
        "pci=config_acs=1x111x1@0000:22:04.0;xx111x1@0000:22:00.0",
        "pci=realloc,config_acs=1011101@0000:20:01.0/00.0/04.0",
        "pci=disable_acs_redir=0000:22:04.0;pci:1000:c010",
        "pci=resource_alignment=20@0000:22:04.0",
    ],
)
def test_a_word_that_does_what_it_says_is_as_wanted(tmp_path: Path, cmdline: str) -> None:
    (found,) = _lints(one_switch(tmp_path), cmdline)

    assert found.state is State.PASS


def test_a_command_line_that_is_not_known_is_never_as_wanted(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tmp_path / "proc/cmdline").unlink()

    (found,) = (f for f in judge_kernel(opened(tree)) if f.id == "kernel.cmdline")

    assert (found.state, found.severity) == (State.ERROR, Severity.INFO)


# What 6.11 to 6.14 make of the options: the message of commit 9cf8a952d57b (B09).

TWO_ENTRIES = "pci=config_acs=1111011@0020:02:00.0;101xxxx@0039:00:00.0"


@pytest.mark.parametrize("release", ["6.11.5", "6.12.22", "6.13.10", "6.14.1"])
def test_a_kernel_that_takes_only_the_first_entry_is_named(tmp_path: Path, release: str) -> None:
    (found,) = _lints(one_switch(tmp_path), TWO_ENTRIES, release)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert "takes only the first entry" in found.reason


def test_a_kernel_that_may_be_one_is_information(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), TWO_ENTRIES, "6.12.0-55.el10.x86_64")

    assert (found.state, found.severity) == (State.FAIL, Severity.INFO)
    assert "may be one that takes only the first entry" in found.reason


def test_one_entry_that_says_all_means_the_same_for_every_kernel(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), "pci=config_acs=1011101@pci:1000:c010", "6.12.1")

    assert found.state is State.PASS


def test_disable_acs_redir_on_such_a_kernel_sets_the_other_bits(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), "pci=disable_acs_redir=0000:22:04.0", "6.12.1")

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert "TransBlk" in found.reason


def test_a_kernel_that_knows_no_config_acs_ignores_it(tmp_path: Path) -> None:
    (found,) = _lints(one_switch(tmp_path), "pci=config_acs=1x111x1@pci:0:0", "6.8.0-45-generic")

    assert found.state is State.FAIL
    assert "since 6.11" in found.reason
