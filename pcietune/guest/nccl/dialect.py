"""What NCCL's reader of topology files takes: it is written by hand, and no XML parser.

Source: NCCL 2.30, src/graph/xml.cc, xml.h and topo.cc; RCCL, tools/topo_expl.
"""

from collections.abc import Mapping
from enum import StrEnum


class Library(StrEnum):
    """Which library is to read the file."""

    NCCL = "nccl"
    RCCL = "rccl"


VERSIONS = {Library.NCCL: 1, Library.RCCL: 2}
"""The ``version`` that the root has to have."""

# Of strings of 255 bytes (MAX_STR_LEN) an element's name and a value lose one to what ends them.
LONGEST_NAME = 253  # of an element, in bytes
LONGEST_KEY = 254  # of an attribute
LONGEST_VALUE = 253
MOST_ATTRIBUTES = 16  # what is beyond them is ignored
MOST_ELEMENTS = 255  # of a file: a closing tag, too, needs a free node of 256; so none has 640

BRIDGE_CLASS = "0x060400"
GPU_CLASSES = "0x03"  # all that begin so
ACCELERATOR_CLASSES = "0x12"  # of GPUs, too, to RCCL: AMD Instinct's
NIC_CLASSES = "0x02"
NVSWITCH_CLASS = "0x068000"

ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "system": frozenset({"version", "name"}),
    "cpu": frozenset(
        {
            "numaid", "affinity", "affinity_offset", "arch", "vendor", "familyid", "modelid",
            "host_hash",
        }
    ),
    "pci": frozenset(
        {
            "busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device",
            "link_speed", "link_width",
        }
    ),
    "gpu": frozenset({"dev", "sm", "rank", "gdr", "mlopart", "keep", "gcn", "arch"}),
    "nvlink": frozenset({"target", "count", "tclass"}),
    "xgmi": frozenset({"target", "count", "tclass"}),
    "c2c": frozenset({"bw", "count"}),
    "pcilink": frozenset({"target"}),
    "nic": frozenset(),
    "net": frozenset(
        {
            "name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll", "net",
            "gin", "rma", "rail", "plane", "keep",
        }
    ),
}  # fmt: skip
"""The attributes of each element that one of its versions reads or writes."""

_CHILDREN: Mapping[str, tuple[str, ...]] = {
    "": ("system",),
    "system": ("cpu",),
    "cpu": ("pci", "nic"),
    "pci": ("pci", "gpu", "nic", "pcilink"),
    "gpu": ("nvlink", "c2c"),
    "nic": ("net",),
}


def children_of(name: str, library: Library) -> tuple[str, ...]:
    """Return the elements that are read below one of that name; of the file itself for ""."""
    if name == "gpu" and library is Library.RCCL:
        return ("xgmi", "nvlink", "c2c")
    return _CHILDREN.get(name, ())
