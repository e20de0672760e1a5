"""What ``mstconfig -d DEVICE -e query`` prints, and mlxconfig alike."""

import re

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError, quoted
from pcietune.model.nic_firmware import Answer, Parameter, Setting

_HEADER = re.compile(r"\s*Configurations:\s+Default\s+Current\s+Next Boot\s*")
_DEVICE = re.compile(r"\s*Device:\s+(\S+)\s*")
_ROW = re.compile(r"(?:\s*\*)?(?:\s*RO)?\s+(\w+)\s+(\S.*\S|\S)\s*")  # * differs, RO is read-only
_VALUES = {"False(0)": False, "True(1)": True}
_COLUMNS = 3


def parse_answer(text: str, address: PciAddress) -> Answer:
    """Return the settings that an answer tells of.

    Raises:
        ConfigSpaceError: It is no answer with three columns about this function, and one only.
    """
    lines = text.splitlines()
    headers = [number for number, line in enumerate(lines) if _HEADER.fullmatch(line)]
    if len(headers) != 1:
        raise _not_understood(address, "there is no table of Default, Current and Next Boot")
    for device in (match[1] for line in lines if (match := _DEVICE.fullmatch(line))):
        _check_device(device, address)
    settings: dict[Parameter, Setting] = {}
    for line in lines[headers[0] + 1 :]:
        match = _ROW.fullmatch(line)
        if match is None or match[1] not in list(Parameter):
            continue
        parameter, values = Parameter(match[1]), match[2].split()
        if parameter in settings or len(values) != _COLUMNS:
            raise _not_understood(address, f"{parameter} is said to be {quoted(match[2])}")
        settings[parameter] = Setting(*(_VALUES.get(value) for value in values))
    return Answer(settings)


def _check_device(device: str, address: PciAddress) -> None:
    """Do nothing if this is the function that was asked for.

    Raises:
        ConfigSpaceError: It is another.
    """
    try:
        if PciAddress.parse(device) == address:
            return
    except BadInputError:
        pass
    raise _not_understood(address, f"the answer is about {quoted(device)}")


def _not_understood(address: PciAddress, why: str) -> ConfigSpaceError:
    return ConfigSpaceError(
        f"{address}: what the firmware tool prints is not understood: {why}",
        hint=f"look yourself: mstconfig -d {address} -e query",
    )
