"""The words of a plan: kinds of functions, bridges, firmware, and owners of NVSwitches."""

from enum import StrEnum


class Kind(StrEnum):
    """What a function is to the VM."""

    GPU = "gpu"
    NIC = "nic"
    NVSWITCH = "nvswitch"
    COMPANION = "companion"  # another function of a GPU's or NIC's slot or group


class BridgeKind(StrEnum):
    """What a bridge of the VM is, by the name of QEMU's device."""

    EXPANDER = "pxb-pcie"  # a root bus of its own, with a NUMA node
    ROOT_PORT = "pcie-root-port"
    UPSTREAM_PORT = "x3130-upstream"
    DOWNSTREAM_PORT = "xio3130-downstream"


class Firmware(StrEnum):
    """What enumerates the VM's buses first."""

    SEABIOS = "seabios"
    OVMF = "ovmf"


class Backend(StrEnum):
    """How QEMU has VFIO map the VM's memory."""

    CONTAINER = "container"  # /dev/vfio/vfio and a group; every QEMU and kernel
    IOMMUFD = "iommufd"  # QEMU 9.0; maps peers' BARs since Linux 7.0 only


class NvSwitchModel(StrEnum):
    """Who owns a host's NVSwitches."""

    NONE = "none"  # the host has none, or the VM does without NVLink
    FULL = "full"  # the VM has them, and Fabric Manager runs in it
    SHARED = "shared"  # a service VM has them, and activates partitions
    HOST = "host"  # the host's own Fabric Manager activates partitions
