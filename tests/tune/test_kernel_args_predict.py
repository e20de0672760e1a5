"""Expected words: what the kernel logged, in the message of commit 9cf8a952d57b (B09)."""

from pathlib import Path

import pytest
from trees.function import downstream_port, root_port
from trees.host import TreeHost
from tune.judged import at, opened

from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import Semantics, Words
from pcietune.tune.kernel_args.predict import predict

FIRST, SECOND = "0020:02:00.0", "0039:00:00.0"
TWO_ENTRIES = f"quiet pci=config_acs=1111011@{FIRST};101xxxx@{SECOND}"
ALL = ~AcsControl(0)


def _after(  # noqa: PLR0913 -- what the kernel's log has
    tmp_path: Path,
    line: str,
    address: str,
    *,
    kernel: int,
    firmware: int,
    semantics: Semantics = Semantics.FIXED,
    supported: AcsControl = ALL,
) -> int:
    tree = TreeHost(tmp_path)
    tree.add(root_port("0020:00:00.0"), downstream_port(FIRST, below="0020:00:00.0"))
    tree.add(root_port(SECOND))
    port = at(opened(tree), address)
    return predict(line.split(), port, supported, Words(firmware, kernel), semantics)


@pytest.mark.parametrize(
    ("address", "kernel", "firmware", "result"),
    [(FIRST, 0x5F, 0x53, 0x7B), (SECOND, 0x1D, 0x00, 0x50)],
)
def test_both_entries_set_what_the_fixed_kernel_logged(
    tmp_path: Path, address: str, kernel: int, firmware: int, result: int
) -> None:
    assert _after(tmp_path, TWO_ENTRIES, address, kernel=kernel, firmware=firmware) == result


def test_the_second_entry_does_nothing_on_a_broken_kernel(tmp_path: Path) -> None:
    broken = Semantics.BROKEN

    after = _after(tmp_path, TWO_ENTRIES, SECOND, kernel=0x1D, firmware=0, semantics=broken)

    assert after == 0x1D


@pytest.mark.parametrize(
    ("kernel", "firmware", "broken", "fixed"),
    [(0x7F, 0x7B, 0xFFFB, 0x53), (0x5F, 0x5F, 0xFFDF, 0x53), (0x1D, 0x00, 0xFFD3, 0x00)],
)
def test_disable_acs_redir_leaves_what_was_logged(
    tmp_path: Path, kernel: int, firmware: int, broken: int, fixed: int
) -> None:
    line = f"pci=disable_acs_redir={FIRST}"
    found = [
        _after(
            tmp_path / semantics.name,
            line,
            FIRST,
            kernel=kernel,
            firmware=firmware,
            semantics=semantics,
        )
        for semantics in (Semantics.BROKEN, Semantics.FIXED)
    ]

    assert found == [broken, fixed]


def test_config_acs_is_said_after_disable_acs_redir(tmp_path: Path) -> None:
    line = f"pci=config_acs=1x1@{FIRST} pci=disable_acs_redir={FIRST}"

    assert _after(tmp_path, line, FIRST, kernel=0x1D, firmware=0x1D) == 0x1D


def test_what_the_port_does_not_have_stays_0(tmp_path: Path) -> None:
    line = f"pci=config_acs=1111111@{FIRST}"
    supported = AcsControl.decode(0x1F)

    assert _after(tmp_path, line, FIRST, kernel=0, firmware=0, supported=supported) == 0x1F


@pytest.mark.parametrize(
    "line",
    [
        f"pci=config_acs=1@nonsense;1011101@{FIRST}",
        f"pci=config_acs=12@pci:0:1;1011101@{FIRST}",
        f"pci=config_acs=1011101@{FIRST} pci=config_acs=1011101@{SECOND}",
        f"pci=realloc,config_acs=1@pci:1:1,1011101@{FIRST}",
        f"pci=disable_acs_redir=nonsense;{FIRST}",
        f"-- pci=config_acs=1011101@{FIRST}",
    ],
    ids=["no device", "no flags", "not the last", "cut off", "no device in a list", "for init"],
)
def test_what_the_kernel_does_not_get_to_changes_nothing(tmp_path: Path, line: str) -> None:
    assert _after(tmp_path, line, FIRST, kernel=0x1D, firmware=0) == 0x1D
