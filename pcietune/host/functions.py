"""The list of a host's functions: one link and one ``uevent`` file of each are read."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN, NotKnown

DEVICES = "sys/bus/pci/devices"
_BUSES = "sys/bus"

_NO_VENDOR, _NO_CLASS = 0xFFFF, 0xFFFFFF  # of what does not answer; the kernel lists no such
_UNTOLD_CLASS = 0xFFFF  # base class and sub-class, of a text that does not tell them
_TRY = "dump it with lspci -D -nn -xxxx, which prints its IDs"
_TELL = "add what lspci -D -nn prints, or better lspci -D -nn -xxxx as root"
_ROOT_BUS = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Listing:
    """The functions of a host.

    Attributes:
        functions: In the order of addresses.
        paths: Each function's directory, relative to the host's root.
        problems: A sentence on each entry that could not be made sense of, or that is not known
            to be a GPU or none. A function that vanished while it was looked at is none: it is
            left out.
    """

    functions: tuple[PciFunction, ...]
    paths: Mapping[PciAddress, str]
    problems: tuple[str, ...]


def list_functions(files: HostFiles) -> Listing:
    """Return what functions there are; costs no configuration cycle.

    Raises:
        BadInputError: A link of a recording leads out of it.
        NotPermittedError: This user may not look there.
    """
    functions: list[PciFunction] = []
    paths: dict[PciAddress, str] = {}
    problems: list[str] = []
    untold: list[str] = []  # what a function is, as by lspci -t, or -vvv with names not known
    if not files.exists(_BUSES):
        problems.append(f"/{_BUSES} is missing, so no function can be seen: is /sys mounted?")
    for name in files.names(DEVICES):
        link = f"{DEVICES}/{name}"
        target = files.link(link)
        path = os.path.normpath(f"{DEVICES}/{target}")
        uevent = None if target is None else files.text(f"{path}/uevent")
        no_driver = None if files.complete else NOT_KNOWN
        function = None if uevent is None else _function(name, path, uevent, no_driver)
        if function is not None:
            functions.append(function)
            paths[function.address] = path
            if function.device_class == _UNTOLD_CLASS:
                ones = (function.vendor, function.class_code) == (_NO_VENDOR, _NO_CLASS)
                if ones and files.exists(f"{path}/config"):
                    problems.append(f"{name} reads as all ones, so what it is is not known: {_TRY}")
                elif not files.complete:  # else it is of a class that is assigned to nothing
                    untold.append(name)
        elif files.exists(link):
            problems.append(f"/{link} is not what the kernel makes of a PCI function")
    if untold:
        others = f" and {len(untold) - 1} more" if untold[1:] else ""
        problems.append(f"what {min(untold)}{others} may be is not told: {_TELL}")
    functions.sort(key=lambda function: function.address)
    return Listing(tuple(functions), paths, tuple(problems))


def _function(name: str, path: str, uevent: str, no_driver: NotKnown | None) -> PciFunction | None:
    """Put together what ``path`` and ``uevent`` say; None if they do not make a function."""
    facts = dict(line.partition("=")[::2] for line in uevent.splitlines())
    try:
        vendor, device = _id(facts["PCI_ID"])
        subsystem_vendor, subsystem_device = _id(facts["PCI_SUBSYS_ID"])
        return PciFunction(
            address=PciAddress.parse(name),
            ports=_ports(path),
            vendor=vendor,
            device=device,
            subsystem_vendor=subsystem_vendor,
            subsystem_device=subsystem_device,
            class_code=int(facts["PCI_CLASS"], 16),
            driver=facts.get("DRIVER", no_driver),
        )
    except (BadInputError, KeyError, ValueError):
        return None


def _id(text: str) -> tuple[int, int]:
    """Parse ``10DE:20F3``."""
    vendor, device = text.split(":")
    return int(vendor, 16), int(device, 16)


def _ports(path: str) -> tuple[PciAddress, ...]:
    """Return the bridges between the last root bus on ``path`` and the function at its end.

    A root bus may itself stand below a function, as those of Intel VMD do.

    Raises:
        ValueError: There is no root bus on the path.
        BadInputError: Something else than a function stands between.
    """
    *above, _function = path.split("/")
    root_bus = max(index for index, name in enumerate(above) if _ROOT_BUS.fullmatch(name))
    return tuple(PciAddress.parse(name) for name in above[root_bus + 1 :])
