"""Classes and vendors by the names of pci.ids, for text without -nn; Device IDs stay unknown."""

import re

NOT_TOLD = 0xFFFF
"""A class, Vendor or Device ID that a text does not tell; no function that answers has it."""

# lspci puts the number beside the name of a class, a vendor or a device that pci.ids lacks
_HEAD = re.compile(r"\S+ ([^:\[\]]+?)(?: \[([0-9a-f]{4})\])?: (.*)")
_UNNAMED_CLASS = re.compile(r"Class ([0-9a-f]{4})")
_UNNAMED_DEVICE = re.compile(r"Device ([0-9a-f]{4}):([0-9a-f]{4})(?: \(|$)")
_NAMED_VENDOR = re.compile(r".*[^:] Device ([0-9a-f]{4})(?: \((?:rev|prog-if) .*|$)")
# Sub-classes by name. Those that end in 80 have the name of their base class.
_CLASSES = {
    "Non-VGA unclassified device": 0x0000,
    "VGA compatible unclassified device": 0x0001,
    "Image coprocessor": 0x0005,
    "SCSI storage controller": 0x0100,
    "IDE interface": 0x0101,
    "Floppy disk controller": 0x0102,
    "IPI bus controller": 0x0103,
    "RAID bus controller": 0x0104,
    "ATA controller": 0x0105,
    "SATA controller": 0x0106,
    "Serial Attached SCSI controller": 0x0107,
    "Non-Volatile memory controller": 0x0108,
    "Universal Flash Storage controller": 0x0109,
    "Mass storage controller": 0x0180,
    "Ethernet controller": 0x0200,
    "Token ring network controller": 0x0201,
    "FDDI network controller": 0x0202,
    "ATM network controller": 0x0203,
    "ISDN controller": 0x0204,
    "WorldFip controller": 0x0205,
    "PICMG controller": 0x0206,
    "Infiniband controller": 0x0207,
    "Fabric controller": 0x0208,
    "Network controller": 0x0280,
    "VGA compatible controller": 0x0300,
    "XGA compatible controller": 0x0301,
    "3D controller": 0x0302,
    "Display controller": 0x0380,
    "Multimedia video controller": 0x0400,
    "Multimedia audio controller": 0x0401,
    "Computer telephony device": 0x0402,
    "Audio device": 0x0403,
    "Multimedia controller": 0x0480,
    "RAM memory": 0x0500,
    "FLASH memory": 0x0501,
    "CXL": 0x0502,
    "Memory controller": 0x0580,
    "Host bridge": 0x0600,
    "ISA bridge": 0x0601,
    "EISA bridge": 0x0602,
    "MicroChannel bridge": 0x0603,
    "PCI bridge": 0x0604,
    "PCMCIA bridge": 0x0605,
    "NuBus bridge": 0x0606,
    "CardBus bridge": 0x0607,
    "RACEway bridge": 0x0608,
    "Semi-transparent PCI-to-PCI bridge": 0x0609,
    "InfiniBand to PCI host bridge": 0x060A,
    "Bridge": 0x0680,
    "Serial controller": 0x0700,
    "Parallel controller": 0x0701,
    "Multiport serial controller": 0x0702,
    "Modem": 0x0703,
    "GPIB controller": 0x0704,
    "Smard Card controller": 0x0705,
    "Communication controller": 0x0780,
    "PIC": 0x0800,
    "DMA controller": 0x0801,
    "Timer": 0x0802,
    "RTC": 0x0803,
    "PCI Hot-plug controller": 0x0804,
    "SD Host controller": 0x0805,
    "IOMMU": 0x0806,
    "System peripheral": 0x0880,
    "Timing Card": 0x0899,
    "Keyboard controller": 0x0900,
    "Digitizer Pen": 0x0901,
    "Mouse controller": 0x0902,
    "Scanner controller": 0x0903,
    "Gameport controller": 0x0904,
    "Input device controller": 0x0980,
    "Generic Docking Station": 0x0A00,
    "Docking Station": 0x0A80,
    "386": 0x0B00,
    "486": 0x0B01,
    "Pentium": 0x0B02,
    "Alpha": 0x0B10,
    "Power PC": 0x0B20,
    "MIPS": 0x0B30,
    "Co-processor": 0x0B40,
    "FireWire (IEEE 1394)": 0x0C00,
    "ACCESS Bus": 0x0C01,
    "SSA": 0x0C02,
    "USB controller": 0x0C03,
    "Fibre Channel": 0x0C04,
    "SMBus": 0x0C05,
    "InfiniBand": 0x0C06,
    "IPMI Interface": 0x0C07,
    "SERCOS interface": 0x0C08,
    "CANBUS": 0x0C09,
    "Serial bus controller": 0x0C80,
    "IRDA controller": 0x0D00,
    "Consumer IR controller": 0x0D01,
    "RF controller": 0x0D10,
    "Bluetooth": 0x0D11,
    "Broadband": 0x0D12,
    "802.1a controller": 0x0D20,
    "802.1b controller": 0x0D21,
    "Wireless controller": 0x0D80,
    "I2O": 0x0E00,
    "Satellite TV controller": 0x0F01,
    "Satellite audio communication controller": 0x0F02,
    "Satellite voice communication controller": 0x0F03,
    "Satellite data communication controller": 0x0F04,
    "Network and computing encryption device": 0x1000,
    "Entertainment encryption device": 0x1010,
    "Encryption controller": 0x1080,
    "DPIO module": 0x1100,
    "Performance counters": 0x1101,
    "Communication synchronizer": 0x1110,
    "Signal processing management": 0x1120,
    "Signal processing controller": 0x1180,
    "Processing accelerators": 0x1200,
    "SNIA Smart Data Accelerator Interface (SDXI) controller": 0x1201,
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
    "Red Hat, Inc. QEMU ": 0x1B36,
    "Ampere Computing, LLC": 0x1DEF,
    "Chengdu Haiguang IC Design Co., Ltd.": 0x1D94,
    "AMD Pensando Systems": 0x1DD8,
    "Pensando Systems": 0x1DD8,
    "Chelsio Communications ": 0x1425,
    "Amazon.com, Inc.": 0x1D0F,
    "Habana Labs Ltd.": 0x1DA3,
}


def named_ids(line: str) -> tuple[int, int, int]:
    """Return class, Vendor and Device ID as far as a function's line tells, else ``NOT_TOLD``."""
    found = _HEAD.match(line)
    if found is None:
        return (NOT_TOLD, NOT_TOLD, NOT_TOLD)
    return (_class(found[1], found[2]), *_ids(found[3]))


def _class(name: str, number: str | None) -> int:
    if number is None and (unnamed := _UNNAMED_CLASS.fullmatch(name)):
        number = unnamed[1]
    return _CLASSES.get(name, NOT_TOLD) if number is None else int(number, 16)


def _ids(name: str) -> tuple[int, int]:
    """Return Vendor and Device ID of what stands behind a class."""
    if unnamed := _UNNAMED_DEVICE.match(name):
        return (int(unnamed[1], 16), int(unnamed[2], 16))
    vendors = (number for vendor, number in _VENDORS.items() if name.startswith(vendor))
    vendor = next(vendors, NOT_TOLD)
    device = _NAMED_VENDOR.match(name)
    known = device is not None and vendor != NOT_TOLD
    return (vendor, int(device[1], 16) if device is not None and known else NOT_TOLD)
