"""What ``nvidia-smi -q -x`` and ``nvidia-smi conf-compute -f`` print."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError, quoted
from pcietune.host.xml_text import parse_xml
from pcietune.model.nvidia_gpu import MODULES

_ROOT = "nvidia_smi_log"
_MODULE = ("gpu_module_id", "platformInfo/module_id")
_NOT_SUPPORTED = "N/A"
_SWITCH = {"Enabled": True, "Disabled": False, _NOT_SUPPORTED: False}
_CONFIDENTIAL = re.compile(r"CC status:\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one GPU.

    Attributes:
        address: Of the GPU.
        module: Its module id; None if it has none.
        mig: Whether MIG is on, or will be after a reset; None if that is not told.
    """

    address: PciAddress
    module: int | None
    mig: bool | None


def parse_gpus(text: str) -> tuple[Told, ...]:
    """Return what an answer in XML tells, in its order.

    Of each GPU it has an element ``gpu`` with the bus id as ``id``, and in that ``gpu_module_id``,
    of later drivers (570) ``module_id`` in ``platformInfo``, and ``mig_mode`` with ``current_mig``
    and ``pending_mig``. UUIDs and serial numbers are not looked at.

    Raises:
        ConfigSpaceError: It is no such answer, or tells of no GPU, or twice of one.
    """
    try:
        root = parse_xml(text)
    except ValueError as error:
        raise _not_understood(str(error)) from error
    gpus = root.findall("gpu") if root.tag == _ROOT else []
    if not gpus:
        raise _not_understood("there is no GPU in it")
    told = tuple(_gpu(gpu) for gpu in gpus)
    if len({gpu.address for gpu in told}) < len(told):
        raise _not_understood("it tells twice of one GPU")
    return told


def parse_confidential(text: str) -> bool | None:
    """Return whether confidential computing is on; None if that is not told."""
    match = _CONFIDENTIAL.search(text)
    return None if match is None else {"ON": True, "OFF": False}.get(match[1].upper())


def _gpu(gpu: ET.Element) -> Told:
    """Return what one element tells.

    Raises:
        ConfigSpaceError: Its id is no address.
    """
    try:
        address = PciAddress.parse(gpu.get("id", ""))
    except BadInputError as error:
        raise _not_understood(str(error)) from error
    module = next(filter(None, (gpu.findtext(path) for path in _MODULE)), "").strip()
    number = int(module) if module.isdecimal() and len(module) <= 2 else None
    return Told(address, number if number in MODULES else None, _mig(gpu))


def _mig(gpu: ET.Element) -> bool | None:
    """Return whether MIG is on now or after a reset, which giving a GPU to a VM is."""
    states = [
        gpu.findtext(f"mig_mode/{name}", "").strip() for name in ("current_mig", "pending_mig")
    ]
    told = [_SWITCH.get(state) for state in states]
    if True in told:
        return True
    return None if None in told else False


def _not_understood(why: str) -> ConfigSpaceError:
    return ConfigSpaceError(
        f"what nvidia-smi prints is not understood: {quoted(why)}",
        hint="look yourself: nvidia-smi -q -x",
    )
