"""What the kernel says of the host apart from its functions."""

from pathlib import Path

import pytest
from trees.host import TreeHost

from pcietune.host.host_files import HostFiles
from pcietune.host.platform import read_config_acs, read_platform
from pcietune.model.platform import Lockdown, Platform


def _platform(root: Path) -> Platform:
    return read_platform(HostFiles(root, recorded=False))


def test_kernel_boot_and_command_line_are_read_without_their_newline(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.put(
        "proc/cmdline", "ro intel_iommu=on pci=noats,realloc pci=config_acs=1011101@pci:1000:*"
    )

    platform = _platform(tmp_path)

    assert platform.kernel == "6.12.0-amd64"
    assert platform.boot_id == "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
    assert platform.pci_options == ("noats", "realloc", "config_acs=1011101@pci:1000:*")


def test_a_boot_that_reads_as_nothing_is_not_known(tmp_path: Path) -> None:
    TreeHost(tmp_path).put("proc/sys/kernel/random/boot_id", "")

    assert _platform(tmp_path).boot_id is None


def test_dmi_is_read_without_what_tells_one_host_from_the_next(tmp_path: Path) -> None:
    TreeHost(tmp_path)

    dmi = _platform(tmp_path).dmi

    assert dmi["product_name"] == "GPU Server 8"
    assert {"product_serial", "product_uuid"} & dmi.keys() == set()


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("[none] integrity confidentiality", Lockdown.NONE),
        ("none [integrity] confidentiality", Lockdown.INTEGRITY),
        ("none integrity [confidentiality]", Lockdown.CONFIDENTIALITY),
        ("none integrity confidentiality [paranoia]", Lockdown.UNKNOWN),
        ("", Lockdown.UNKNOWN),
    ],
)
def test_the_lockdown_mode_is_the_one_in_brackets(
    tmp_path: Path, text: str, mode: Lockdown
) -> None:
    TreeHost(tmp_path).put("sys/kernel/security/lockdown", text)

    assert _platform(tmp_path).lockdown is mode


def test_on_a_host_that_shows_nothing_all_is_unknown(tmp_path: Path) -> None:
    platform = _platform(tmp_path)

    assert platform == Platform(
        dmi={},
        kernel=None,
        boot_id=None,
        cmdline=None,
        lockdown=Lockdown.UNKNOWN,
        iommu_units={},
        groups={},
    )


@pytest.mark.parametrize(
    ("symbols", "known"),
    [
        pytest.param(b"ffffffff81c4c770 t __pci_config_acs\n", True, id="its code"),
        pytest.param(b"0000000000000000 t __pci_config_acs.isra.0\n", True, id="inlined in part"),
        pytest.param(b"ffffffff82c4c770 d config_acs_param\n", True, id="its variable"),
        pytest.param(b"ffffffff81c50350 T pci_enable_acs\n", False, id="neither"),
        pytest.param(b"", None, id="symbols are hidden"),
    ],
)
def test_the_config_acs_option_is_known_by_its_symbols(
    tmp_path: Path, symbols: bytes, *, known: bool | None
) -> None:
    kallsyms = tmp_path / "proc/kallsyms"
    kallsyms.parent.mkdir()
    kallsyms.write_bytes(symbols)

    assert read_config_acs(HostFiles(tmp_path, recorded=False)) is known


@pytest.mark.parametrize("before", range(0x40000 - 40, 0x40000 + 8, 4))
def test_a_symbol_is_found_wherever_it_stands_in_a_long_table(tmp_path: Path, before: int) -> None:
    kallsyms = tmp_path / "proc/kallsyms"
    kallsyms.parent.mkdir()
    kallsyms.write_bytes(b"x" * before + b" __pci_config_acs\n" + b"y" * 100)

    assert read_config_acs(HostFiles(tmp_path, recorded=False)) is True
