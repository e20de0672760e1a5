"""What may tie two GPUs beside PCIe, as far as their ids and the functions beside them tell.

PCI shows which links a product has, never whether they are up. Ids are of pci.ids, bandwidths of
the vendor's data sheets.
"""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.function import PciFunction

NVIDIA = 0x10DE
AMD = 0x1002
_OTHER_BRIDGE = 0x0680  # compared whole: 0600 and 0604 are a host bridge and a port


class Tie(StrEnum):
    """What ties the GPUs of a product."""

    SWITCHES = "NVSwitches"
    BOARD = "NVLink of their board"
    BRIDGE = "an NVLink bridge, where one is plugged"
    NONE = "none"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a GPU.

    Attributes:
        tie: What they lead to.
        bandwidth: Of one GPU's together, both directions, in GB/s; None if not known.
    """

    tie: Tie
    bandwidth: int | None = None


def _each(ids: str, links: Links) -> dict[int, Links]:
    return {int(device, 16): links for device in ids.split()}


_PRODUCTS: dict[int, Links] = (
    _each("20b0 20b2", Links(Tie.BOARD, 600))  # A100 SXM4
    | _each("20bd 20f3", Links(Tie.BOARD, 400))  # A800 SXM4
    | _each("2330 2336 2339", Links(Tie.BOARD, 900))  # H100 SXM5
    | _each("2324", Links(Tie.BOARD, 400))  # H800 SXM5
    | _each("2328 2329 232c", Links(Tie.BOARD, 900))  # H20, H20B
    | _each("2335", Links(Tie.BOARD, 900))  # H200 SXM5
    | _each("2901 2909", Links(Tie.SWITCHES, 1800))  # B200: its NVSwitches are no PCI functions
    | _each("3182", Links(Tie.SWITCHES))  # B300, alike
    | _each("20f1 20b5 20f5 20f6 2321 2322 2331 233b 2235", Links(Tie.BRIDGE))  # cards, A40 too
    | _each("26b5 26b7 26b9 26ba 27b8 2236 2237 2bb5", Links(Tie.NONE))  # L, A10, RTX PRO 6000
)
_SLOW_BY_PCIE = (0x2237, 0x26B7, 0x26BA)
"""A10G and L20: between them, PCIe peer-to-peer was measured below shared memory (NVIDIA/nccl 814,
1817)."""


def is_nvswitch(function: PciFunction) -> bool:
    """Return whether a function is an NVSwitch; those of B200 and later are no PCI functions."""
    return (function.vendor, function.device_class) == (NVIDIA, _OTHER_BRIDGE)


def links_between(one: PciFunction, other: PciFunction, *, nvswitches: bool) -> Links:
    """Return what ties two GPUs.

    Args:
        one: A GPU.
        other: Another.
        nvswitches: Whether their host has NVSwitches among its functions.
    """
    if NVIDIA not in (one.vendor, other.vendor):
        return Links(Tie.NOT_KNOWN)
    if one.vendor != other.vendor:
        return Links(Tie.NONE)
    both = [_PRODUCTS.get(gpu.device, Links(Tie.NOT_KNOWN)) for gpu in (one, other)]
    if any(links.tie is Tie.NONE for links in both):
        return Links(Tie.NONE)
    if one.device != other.device:
        return Links(Tie.NOT_KNOWN)
    links = both[0]
    if links.tie in (Tie.BOARD, Tie.NOT_KNOWN) and nvswitches:
        return Links(Tie.SWITCHES, links.bandwidth)
    return links


def is_slow_by_pcie(one: PciFunction, other: PciFunction) -> bool:
    """Return whether shared memory was seen to beat PCIe peer-to-peer between such GPUs."""
    return any(gpu.vendor == NVIDIA and gpu.device in _SLOW_BY_PCIE for gpu in (one, other))
