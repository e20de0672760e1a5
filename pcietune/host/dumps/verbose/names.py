"""Classes and vendors by the names of pci.ids, for text without -nn; Device IDs stay unknown."""

import re

_NOT_TOLD = 0xFFFF
_HEAD = re.compile(r"\S+ ([^:\[\]]+): (.*)")
_CLASSES = {
    "SATA controller": 0x0106,
    "Serial Attached SCSI controller": 0x0107,
    "RAID bus controller": 0x0104,
    "Non-Volatile memory controller": 0x0108,
    "Ethernet controller": 0x0200,
    "Infiniband controller": 0x0207,
    "Network controller": 0x0280,
    "VGA compatible controller": 0x0300,
    "3D controller": 0x0302,
    "Display controller": 0x0380,
    "Audio device": 0x0403,
    "Host bridge": 0x0600,
    "ISA bridge": 0x0601,
    "PCI bridge": 0x0604,
    "CardBus bridge": 0x0607,
    "Bridge": 0x0680,
    "USB controller": 0x0C03,
    "SMBus": 0x0C05,
    "System peripheral": 0x0880,
    "Co-processor": 0x0B40,
    "Processing accelerators": 0x1200,
}
# Those of GPUs, of NICs, and of the ports above them: roles and quirks go by them.
_VENDORS = {
    "NVIDIA ": 0x10DE,
    "Mellanox ": 0x15B3,
    "Advanced Micro Devices, Inc. [AMD/ATI]": 0x1002,
    "Advanced Micro Devices, Inc. [AMD]": 0x1022,
    "Intel ": 0x8086,
    "PLX ": 0x10B5,
    "Broadcom / LSI ": 0x1000,
    "LSI Logic / Symbios Logic ": 0x1000,
    "Broadcom ": 0x14E4,
    "PMC-Sierra ": 0x11F8,
    "Microsemi ": 0x11F8,
    "Huawei ": 0x19E5,
    "ASPEED ": 0x1A03,
    "Samsung ": 0x144D,
}


def named_ids(line: str) -> tuple[int, int, int]:
    """Return class, Vendor and Device ID as far as a function's line names them, ffff where not."""
    found = _HEAD.match(line)
    if found is None:
        return (_NOT_TOLD, _NOT_TOLD, _NOT_TOLD)
    vendors = (number for name, number in _VENDORS.items() if found[2].startswith(name))
    return (_CLASSES.get(found[1], _NOT_TOLD), next(vendors, _NOT_TOLD), _NOT_TOLD)
