"""What mstconfig and mlxconfig print, by outputs in public reports and other tools' tests."""

from pathlib import Path

import pytest
from host.fake_mstconfig import FakeMstconfig

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError, ExitCode
from pcietune.host.nic_firmware.answer import parse_answer
from pcietune.host.nic_firmware.tool import ConfigTool, find_tool
from pcietune.model.nic_firmware import Answer, Parameter, Setting

NIC = PciAddress.parse("0000:24:00.0")
ATS, ADVANCED = Parameter.ATS_ENABLED, Parameter.ADVANCED_PCI_SETTINGS
OFF = Setting(default=False, current=False, next_boot=False)

MFT = """\

Device #1:
----------

Device type:    ConnectX5
Name:           MCX515A-CCA_Ax_Bx
Description:    ConnectX-5 EN network interface card; 100GbE single-port ...
Device:         0000:24:00.0

Configurations:                              Default         Current         Next Boot
         MEMIC_BAR_SIZE                      0               0               0
         MEMIC_SIZE_LIMIT                    _256KB(1)       _256KB(1)       _256KB(1)
         HOST_CHAINING_DESCRIPTORS           Array[0..7]     Array[0..7]     Array[0..7]
*        ATS_ENABLED                         False(0)        False(0)        True(1)
*        ADVANCED_PCI_SETTINGS               False(0)        True(1)         True(1)
         SAFE_MODE_THRESHOLD                 10              10              10
The '*' shows parameters with next value different from default/current value.
"""
OLDER = """\
Configurations:                              Default              Current              Next Boot
        BOOT_VLAN_EN                         False(0)             False(0)             False(0)
        ATS_ENABLED                          False(0)             False(0)             False(0)
The '*' shows parameters with next value different from default/current value.
"""


def test_three_columns_tell_default_current_and_next_boot() -> None:
    assert parse_answer(MFT, NIC).settings == {
        ATS: Setting(default=False, current=False, next_boot=True),
        ADVANCED: Setting(default=False, current=True, next_boot=True),
    }


def test_the_width_of_columns_does_not_matter_and_the_device_need_not_be_told() -> None:
    assert parse_answer(OLDER, NIC).settings == {ATS: OFF}


def test_a_parameter_that_is_read_only_is_marked_so() -> None:
    marked = OLDER.replace("        ATS_ENABLED", "RO      ATS_ENABLED")

    assert parse_answer(marked, NIC).settings == {ATS: OFF}


def test_a_hidden_parameter_is_not_one_that_is_off() -> None:
    hidden = MFT.replace("ATS_ENABLED ", "OTHER       ")

    assert ATS not in parse_answer(hidden, NIC).settings


def test_a_parameter_whose_name_only_begins_alike_is_another() -> None:
    assert parse_answer(OLDER.replace("ATS_ENABLED  ", "ATS_ENABLED_P"), NIC) == Answer()


def test_a_value_that_is_neither_false_nor_true_is_not_known() -> None:
    odd = OLDER.replace("False(0)\nThe", "DEVICE_DEFAULT(0)\nThe")

    assert parse_answer(odd, NIC).settings[ATS].next_boot is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-E- Failed to open the device",
        MFT.replace("Default         Current         Next Boot", "Next Boot"),
        MFT + MFT,
        OLDER + OLDER.replace("ATS_ENABLED", "XTS_ENABLED"),  # of another NIC
        MFT.replace("0000:24:00.0", "0000:25:00.0"),
        MFT.replace("0000:24:00.0", "/dev/mst/mt4119_pciconf0"),
        OLDER.replace("False(0)             False(0)\nThe", "False(0)\nThe"),
        OLDER.replace("        BOOT_VLAN_EN", "        ATS_ENABLED "),
    ],
)
def test_what_is_no_answer_about_this_nic_is_not_understood(text: str) -> None:
    with pytest.raises(ConfigSpaceError, match="is not understood"):
        parse_answer(text, NIC)


def test_the_device_may_be_written_without_its_domain() -> None:
    assert ATS in parse_answer(MFT.replace("0000:24:00.0", "24:00.0"), NIC).settings


def test_the_tool_is_asked_for_one_nic_by_its_full_address(tmp_path: Path) -> None:
    fake = FakeMstconfig(tmp_path)
    fake.has("ATS_ENABLED", "False(0)", "False(0)", "False(0)")
    wide = PciAddress.parse("10000:24:00.0")

    assert ConfigTool(str(fake.path)).query(wide).settings == {ATS: OFF}
    assert fake.calls() == ["-d 10000:24:00.0 -e query"]


def test_a_parameter_is_set_for_the_next_boot(tmp_path: Path) -> None:
    fake = FakeMstconfig(tmp_path)
    fake.has("ATS_ENABLED", "False(0)", "False(0)", "False(0)")
    tool = ConfigTool(str(fake.path))

    tool.turn_on(NIC, ATS)

    assert fake.calls() == ["-d 0000:24:00.0 -y set ATS_ENABLED=1"]
    assert tool.query(NIC).settings[ATS] == Setting(default=False, current=False, next_boot=True)


def _program(path: Path, text: str) -> ConfigTool:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return ConfigTool(str(path), longest_s=0.2)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo working; echo '-E- Failed to open the device'; exit 3", "Failed to open the device"),
        ("echo 'no such device' >&2; exit 1", "no such device"),
        ("exit 1", "it said nothing"),
        ("sleep 5", "took longer than 0.2 s and was stopped"),
    ],
)
def test_a_tool_that_fails_is_told_with_what_it_said(
    tmp_path: Path, program: str, said: str
) -> None:
    tool = _program(tmp_path / "mstconfig", program)

    with pytest.raises(ConfigSpaceError, match=said) as caught:
        tool.query(NIC)

    assert str(caught.value).startswith("0000:24:00.0: ")


def test_a_tool_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    tool = _program(tmp_path / "mstconfig", "true")
    (tmp_path / "mstconfig").chmod(0o644)

    with pytest.raises(ConfigSpaceError, match="cannot be run"):
        tool.query(NIC)


def test_mstconfig_is_taken_before_mlxconfig(tmp_path: Path) -> None:
    mlxconfig = FakeMstconfig(tmp_path, "mlxconfig")
    assert find_tool(str(tmp_path)).path == str(mlxconfig.path)

    mstconfig = FakeMstconfig(tmp_path, "mstconfig")
    assert find_tool(str(tmp_path)).path == str(mstconfig.path)


def test_without_either_there_is_nothing_to_ask_by(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        find_tool(str(tmp_path))

    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert "mstflint" in caught.value.hint
