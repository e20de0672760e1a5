"""Names of device classes, as lspci prints them (pci.ids); only those that GPU servers show."""

_NAMES = {
    0x0100: "SCSI storage controller",
    0x0104: "RAID bus controller",
    0x0106: "SATA controller",
    0x0107: "Serial Attached SCSI controller",
    0x0108: "Non-Volatile memory controller",
    0x0200: "Ethernet controller",
    0x0207: "Infiniband controller",
    0x0280: "Network controller",
    0x0300: "VGA compatible controller",
    0x0302: "3D controller",
    0x0380: "Display controller",
    0x0403: "Audio device",
    0x0580: "Memory controller",
    0x0600: "Host bridge",
    0x0601: "ISA bridge",
    0x0604: "PCI bridge",
    0x0680: "Bridge",
    0x0700: "Serial controller",
    0x0801: "DMA controller",
    0x0806: "IOMMU",
    0x0880: "System peripheral",
    0x0B40: "Co-processor",
    0x0C03: "USB controller",
    0x0C05: "SMBus",
    0x0C80: "Serial bus controller",
    0x1200: "Processing accelerators",
    0x1300: "Non-Essential Instrumentation",
}


_NOT_TOLD = 0xFFFF


def class_name(device_class: int) -> str:
    """Return the name of base class and sub-class; ``Class 1234`` where there is none here.

    Of what ``lspci -t`` draws alone the class is not told, and reads as ones.
    """
    if device_class == _NOT_TOLD:
        return "Class not known"
    return _NAMES.get(device_class, f"Class {device_class:04x}")
