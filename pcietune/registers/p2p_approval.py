"""NVIDIA's Virtual P2P Approval capability: a hypervisor's word that peer-to-peer works.

A vendor-specific capability of an emulated Configuration Space, which QEMU adds for
``x-nv-gpudirect-clique`` (hw/vfio/pci-quirks.c, vfio_add_nv_gpudirect_cap) and NVIDIA's driver
believes. It enables nothing, and no device has it by itself.
"""

from pcietune.registers.capability_list import CapabilityId, capabilities
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField

_LENGTH_AND_SIGNATURE = 0x02  # 16 bits: 8 bytes in all, "P"
_REST = 0x04  # 32 bits: "2P", version, clique
_BEGINS = 0x5008
_SIGNATURE = BitField(0, 16)
_VERSION = BitField(16, 3)
_CLIQUE = BitField(19, 4)
_ENDS = 0x5032
_KNOWN_VERSION = 0


def approved_clique(config: ConfigSpace) -> int | None:
    """Return the clique of GPUs that the hypervisor vouches for, 0 to 15; None for no word of it.

    Raises:
        ConfigSpaceError: As ``capabilities``.
        NotPermittedError: As ``capabilities``.
    """
    for capability in capabilities(config):
        if capability.id != CapabilityId.VENDOR_SPECIFIC:
            continue
        if config.read(capability.offset + _LENGTH_AND_SIGNATURE, 2) != _BEGINS:
            continue
        rest = config.read(capability.offset + _REST, 4)
        if _SIGNATURE.get(rest) == _ENDS and _VERSION.get(rest) == _KNOWN_VERSION:
            return _CLIQUE.get(rest)
    return None
