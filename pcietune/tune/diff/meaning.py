"""What it means that two hosts differ in a fact."""

from pcietune.tune.diff.fact import Kind
from pcietune.tune.diff.function_facts import (
    ACS_CAPABILITY,
    ATS_BELOW,
    ATS_CAPABILITY,
)

_OF_NAMES = {
    "SrcValid": "off, what is below may send under another function's name",
    "TransBlk": "on, every translation request and translated request from below is an error: no"
    " ATS",
    "ReqRedir": "on, requests to peers go up to the IOMMU; off, straight across, unchecked",
    "CmpltRedir": "on, completions to peers go up, unless they have Relaxed Ordering",
    "UpstreamFwd": "off, what was redirected below may be turned here, past the IOMMU",
    "EgressCtrl": "on, the port blocks peers one by one, by its vector",
    "DirectTrans": "on, translated requests go straight across the switch; off, they climb to the"
    " root complex",
    ACS_CAPABILITY: "what the port can do: another part, its firmware or its settings",
    "ACSCtl bits 12:7": "ACS Enhanced controls, which lspci does not name",
    ATS_CAPABILITY: "whether the function can translate at all: its firmware's setting",
    ATS_BELOW: "without it Linux does not enable ATS below this root port: a setting of the BIOS",
    "ATS Enable": "on, the function sends translated requests, which DirectTrans lets straight"
    " across",
    "MaxPayload": "bytes a packet carries at most; the smallest on a path holds for all of it",
    "RlxdOrd": "on, its packets may overtake others; CmpltRedir lets such completions pass",
    "group type": "DMA types translate addresses; identity does not",
    "IOMMU group": "VFIO gives a group to one VM as a whole",
    "NUMA node": "memory and interrupts are placed by it",
    "presence": "a card that is there on one host only, was lost, or is hidden by a switch",
    "id": "another part at the same place, or the same in another mode",
    "location": "the same address, reached by other bridges",
    "speed": "links of idle functions may slow down: compare under load",
    "width": "lanes that are lost cost bandwidth: look at the seat, riser or cable",
    "VFs": "virtual functions that exist now",
    "TotalVFs": "virtual functions that the device's firmware allows",
    "device TLB": "without it the IOMMU answers no translation request: no ATS below it",
    "IOMMU unit": "off in the firmware or on the kernel command line where it is not there",
}
_OF_KINDS = {
    Kind.FIRMWARE: "firmware decides about ACS defaults, ATS tables and bus numbers",
    Kind.KERNEL: "kernels differ in what they enable, and when",
    Kind.COMMAND_LINE: "words act before any driver does",
    Kind.DRIVER: "a driver decides who uses the function, and how it translates",
    Kind.ROUTE: "the packets between the two go another way",
}


def meaning(kind: Kind, name: str) -> str:
    """Return what a difference in a fact means, in one sentence; empty if that is plain."""
    return _OF_NAMES.get(name, _OF_KINDS.get(kind, ""))
