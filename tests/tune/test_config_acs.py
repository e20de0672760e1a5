"""Expected words: what the kernel logged, in the message of commit 9cf8a952d57b (B09)."""

import pytest

from pcietune.model.kernel_release import KernelRelease
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import (
    Semantics,
    Words,
    after_config_acs,
    after_disable_acs_redir,
    parse_config_acs,
    readable_entries,
    semantics_of,
)
from pcietune.tune.vfio_use import ISOLATION

COMMAND_LINE = "1111011@0020:02:00.0;101xxxx@0039:00:00.0"


def test_a_fixed_kernel_takes_both_entries() -> None:
    first, second = readable_entries(parse_config_acs(COMMAND_LINE), Semantics.FIXED)

    assert (first.device, first.mask, first.flags) == ("0020:02:00.0", 0x7F, 0x7B)
    assert (second.device, second.mask, second.flags) == ("0039:00:00.0", 0x70, 0x50)


def test_a_broken_kernel_stumbles_over_the_second_entry() -> None:
    (only,) = readable_entries(parse_config_acs(COMMAND_LINE), Semantics.BROKEN)

    assert only.device == "0020:02:00.0"


def test_a_kernel_before_6_11_takes_none() -> None:
    assert not readable_entries(parse_config_acs(COMMAND_LINE), Semantics.NO_CONFIG_ACS)


@pytest.mark.parametrize(
    ("entry", "kernel", "firmware", "result"),
    [
        pytest.param("1111011@0020:02:00.0", 0x5F, 0x53, 0x7B, id="all spelled out"),
        pytest.param("101xxxx@0039:00:00.0", 0x1D, 0x00, 0x50, id="x is the firmware's value"),
    ],
)
def test_a_fixed_kernel_sets_what_it_logged(
    entry: str, kernel: int, firmware: int, result: int
) -> None:
    (parsed,) = parse_config_acs(entry)

    assert after_config_acs(parsed, Words(firmware, kernel), Semantics.FIXED) == result


def test_a_broken_kernel_set_the_same_where_all_was_spelled_out() -> None:
    (parsed,) = parse_config_acs("1111011@0020:02:00.0")

    assert after_config_acs(parsed, Words(0x53, 0x5F), Semantics.BROKEN) == 0x7B


def test_a_broken_kernel_cannot_clear_what_firmware_set() -> None:
    (parsed,) = parse_config_acs("0000000@0020:02:00.0")
    words = Words(firmware=0x1D, kernel=0x1D)

    assert after_config_acs(parsed, words, Semantics.BROKEN) == 0x1D
    assert after_config_acs(parsed, words, Semantics.FIXED) == 0


@pytest.mark.parametrize(
    ("kernel", "firmware", "broken", "fixed"),
    [(0x7F, 0x7B, 0xFFFB, 0x53), (0x5F, 0x5F, 0xFFDF, 0x53), (0x1D, 0x00, 0xFFD3, 0x00)],
)
def test_disable_acs_redir_does_what_was_logged(
    kernel: int, firmware: int, broken: int, fixed: int
) -> None:
    words = Words(firmware, kernel)

    assert after_disable_acs_redir(words, Semantics.BROKEN) == broken
    assert after_disable_acs_redir(words, Semantics.FIXED) == fixed


def test_before_6_11_disable_acs_redir_cleared_redirection_and_left_the_kernels_own() -> None:
    assert after_disable_acs_redir(Words(0x00, 0x1D), Semantics.NO_CONFIG_ACS) == 0x11


@pytest.mark.parametrize(
    "text",
    ["10x", "@0000:20:01.0", "10y@pci:0:0", "10000000@pci:0:0", "10x@"],
    ids=["no device", "no flags", "no such flag", "a bit above 6", "nothing behind the @"],
)
def test_an_entry_that_the_kernel_drops_is_not_valid(text: str) -> None:
    (entry,) = parse_config_acs(text)

    assert not entry.is_valid


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        ("1x111x1", AcsControl(0)),  # what rdma_topo of rdma-core asks for
        ("1xxxxxx", ISOLATION),
        ("101xxxx", ISOLATION & ~AcsControl.UPSTREAM_FORWARDING),
        ("10x", ISOLATION & ~AcsControl.P2P_REQUEST_REDIRECT),
    ],
)
def test_an_x_leaves_a_control_to_firmware(entry: str, left: AcsControl) -> None:
    (parsed,) = parse_config_acs(f"{entry}@pci:0:0")

    assert parsed.left_to_firmware == left


@pytest.mark.parametrize(
    ("release", "semantics"),
    [
        ("6.10.14", Semantics.NO_CONFIG_ACS),
        ("6.8.0-45-generic", Semantics.NO_CONFIG_ACS),
        ("6.11.11", Semantics.BROKEN),
        ("6.11.0-29-generic", Semantics.BROKEN),
        ("6.12.22", Semantics.BROKEN),
        ("6.12.23", Semantics.FIXED),
        ("6.12.117+deb13-amd64", Semantics.FIXED),
        ("6.12.0-55.9.1.el10_0.x86_64", None),
        ("6.13.10", Semantics.BROKEN),
        ("6.13.11", Semantics.FIXED),
        ("6.14.1", Semantics.BROKEN),
        ("6.14.2", Semantics.FIXED),
        ("6.14.0-33-generic", None),
        ("6.15.0", Semantics.FIXED),
        ("7.2.0-rc1", Semantics.FIXED),
        (None, None),
    ],
)
def test_the_release_says_what_a_kernel_makes_of_the_options(
    release: str | None, semantics: Semantics | None
) -> None:
    assert semantics_of(KernelRelease.parse(release)) is semantics
