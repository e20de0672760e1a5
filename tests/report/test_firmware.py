"""What ``pcietune firmware`` prints of each NIC, for people and for programs."""

import json
from pathlib import Path

import pytest
from trees.machines import one_switch
from tune.judged import NIC, at, opened

from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.model.function import PciFunction
from pcietune.model.nic_firmware import Answer, Due, NicFirmware, Parameter, Setting
from pcietune.report.firmware import FirmwareRun, firmware_document, firmware_lines

OFF_NOW = Setting(default=False, current=False, next_boot=True)


@pytest.fixture
def nic(tmp_path: Path) -> PciFunction:
    return at(opened(one_switch(tmp_path)), NIC)


def _run(*cards: NicFirmware) -> FirmwareRun:
    return FirmwareRun("/usr/bin/mstconfig", cards, None, (), ExitCode.DIFFERS)


def _set(nic: PciFunction) -> NicFirmware:
    answer = Answer({Parameter.ATS_ENABLED: OFF_NOW})
    return NicFirmware((nic,), answer, Due.REBOOT, done=(Parameter.ATS_ENABLED,))


def test_a_nic_that_was_set_tells_all_three_values_and_that_a_reboot_is_due(
    nic: PciFunction,
) -> None:
    lines = list(firmware_lines(_run(_set(nic))))

    assert f"open  {NIC} (15b3:101b)" in lines
    assert "      ATS_ENABLED: default off, now off, after the next reboot on" in lines
    assert "      set, and read back: ATS_ENABLED" in lines
    assert lines[-1].endswith("a reboot of this host is due for 1")


def test_a_nic_that_gave_no_answer_tells_why_and_no_step(nic: PciFunction) -> None:
    error = ConfigSpaceError(f"{NIC}: mstconfig failed: 'Failed to open the device'")
    lines = list(firmware_lines(_run(NicFirmware((nic,), None, Due.NOT_KNOWN, error))))

    assert f"      {error}" in lines
    assert not any("due:" in line for line in lines)


def test_a_host_without_nics_to_ask_says_so() -> None:
    assert (
        list(firmware_lines(_run()))[-1] == "there is no NIC here that a profile would have asked"
    )


def test_the_document_tells_the_same(nic: PciFunction) -> None:
    document = json.loads(firmware_document(_run(_set(nic))))

    assert document["reboot_required"] is True
    assert document["exit"] == 3
    assert document["nics"] == [
        {
            "path": nic.location,
            "address": NIC,
            "id": "15b3:101b",
            "functions": [NIC],
            "settings": [
                {"name": "ATS_ENABLED", "default": False, "current": False, "next_boot": True}
            ],
            "due": "reboot",
            "set": ["ATS_ENABLED"],
            "error": None,
        }
    ]
