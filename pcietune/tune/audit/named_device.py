"""Which functions a device on the kernel command line means.

By drivers/pci/pci.c, pci_dev_str_match and pci_dev_str_match_path.
"""

import re

from pcietune.model.function import PciFunction

_PATH = re.compile(r"(?:([\da-f]+):)?([\da-f]+):([\da-f]+)\.([\da-f]+)((?:/[\da-f]+\.[\da-f]+)*)")
_IDS = re.compile(r"pci:([\da-f]+):([\da-f]+)(?::([\da-f]+):([\da-f]+))?")


def is_device(text: str) -> bool:
    """Return whether the kernel can parse it; at one that it cannot it ends a list."""
    text = text.lower()
    return bool(_IDS.fullmatch(text) or _PATH.fullmatch(text))


def means(text: str, function: PciFunction) -> bool:
    """Return whether a device means ``function``, by its ids, its address or the path to it."""
    text = text.lower()
    ids = _IDS.fullmatch(text)
    return _has_ids(ids, function) if ids else _is_at(_PATH.fullmatch(text), function)


def _has_ids(ids: re.Match[str], function: PciFunction) -> bool:
    """Return whether a function has these ids; 0 stands for any."""
    own = (
        function.vendor,
        function.device,
        function.subsystem_vendor,
        function.subsystem_device,
    )
    wanted = [int(digits or "0", 16) for digits in ids.groups()]
    return all(each in (0, has) for each, has in zip(wanted, own, strict=True))


def _is_at(path: re.Match[str] | None, function: PciFunction) -> bool:
    """Return whether a function is what a path leads to, from the bridge that it starts with."""
    if path is None:
        return False
    *address, hops = path.groups()
    domain, bus, device, number = (int(digits or "0", 16) for digits in address)
    devfns = [_devfn(*hop.split(".")) for hop in hops.split("/")[1:]]
    above = (*function.ports, function.address)
    start, *down = above[-len(devfns) - 1 :]
    return (start.domain, start.bus, start.device, start.function) == (
        domain,
        bus,
        device,
        number,
    ) and [(hop.device, hop.function) for hop in down] == devfns


def _devfn(device: str, function: str) -> tuple[int, int]:
    return (int(device, 16), int(function, 16))
