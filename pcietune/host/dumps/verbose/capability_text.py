"""Makes registers of what ``lspci -vvv`` prints of one capability.

What lspci prints of each register (ls-caps.c and ls-ecaps.c of pciutils), and what is made of it:

    register           printed                         not printed, and so
    PCIe Capabilities  version, Device/Port Type       flags of no concern: 0
    Device Cap.        Max_Payload_Size Supported      flags of no concern: 0
    Device Control     Relaxed Ordering, payload       flags of no concern: 0
    Link Cap.          Port Number, speed, width       flags of no concern: 0
    Link Status        speed, width                    flags of no concern: 0
    Link Control 2     Target Link Speed               flags of no concern: 0
    ACS Capability     bits 6:0                        bits 15:7: untold
    ACS Control        bits 6:0                        bits 12:7: untold
    ATS Capability     Invalidate Queue Depth          bits 7:5: untold
    ATS Control        Enable, STU                     nothing
    SR-IOV             Enable, VFs, offset, stride, id flags of no concern: 0
    Vendor Specific    length                          the rest; of 8 bytes, all

A register that the text lacks, or tells in words that are not known, is unread.
"""

import re

from pcietune.host.dumps.verbose.told import Told
from pcietune.registers.acs import LSPCI_NAMES
from pcietune.registers.express import PortType

_EXPRESS = re.compile(r"Express (?:\(v([0-9])\) )?([A-Z][\w /-]*?)(?: \(Slot[+-]\))?(?:,|\n|$)")
_PORT_TYPES = {
    "Endpoint": PortType.ENDPOINT,
    "Legacy Endpoint": PortType.LEGACY_ENDPOINT,
    "Root Port": PortType.ROOT_PORT,
    "Upstream Port": PortType.UPSTREAM_PORT,
    "Downstream Port": PortType.DOWNSTREAM_PORT,
    "PCI-Express to PCI/PCI-X Bridge": PortType.PCIE_TO_PCI_BRIDGE,
    "PCI/PCI-X to PCI-Express Bridge": PortType.PCI_TO_PCIE_BRIDGE,
    "Root Complex Integrated Endpoint": PortType.RC_INTEGRATED_ENDPOINT,
    "Root Complex Event Collector": PortType.RC_EVENT_COLLECTOR,
}
_WITHOUT_LINK = (PortType.RC_INTEGRATED_ENDPOINT, PortType.RC_EVENT_COLLECTOR)
_PAYLOAD = re.compile(r"DevCap:\s*MaxPayload (\d+) bytes")
_ORDERING = re.compile(r"RlxdOrd([+-])")
_PAYLOAD_NOW = re.compile(r"MaxPayload (\d+) bytes, MaxReadReq")
_LINK_CAPABLE = re.compile(
    r"LnkCap:\s*Port #([0-9]{1,3}), Speed ([\w.]{1,9}?)(?:GT/s)?, Width x([0-9]{1,2})\b"
)
_LINK = re.compile(r"LnkSta:\s*Speed ([\w.]{1,9}?)(?:GT/s)?(?: \(\w+\))?, Width x([0-9]{1,2})\b")
_TARGET = re.compile(r"Target Link Speed: ([\d.]+)GT/s")
_SPEEDS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}  # codes of Link Speed
_PAYLOADS = {str(128 << code): code for code in range(6)}

_ACS_WORDS = re.compile(r"ACS(Cap|Ctl):\s*((?:\w+[+-](?:\s+|$)){7})")
_ACS_UNTOLD = {"Cap": 0xFF80, "Ctl": 0x1F80}
_ATS_CAPABILITY = re.compile(r"ATSCap:\s*Invalidate Queue Depth: ([01][0-9a-f])\b")
_ATS_CONTROL = re.compile(r"ATSCtl:\s*Enable([+-]), Smallest Translation Unit: ([01][0-9a-f])\b")
_ATS_UNTOLD = 0x00E0
_SRIOV = (
    (0x0E, re.compile(r"Total VFs: ([0-9]{1,5}),")),
    (0x10, re.compile(r"Number of VFs: ([0-9]{1,5}),")),
    (0x14, re.compile(r"VF offset: ([0-9]{1,5}),")),
    (0x16, re.compile(r"VF offset: [0-9]{1,5}, stride: ([0-9]{1,5}),")),
)
_VFS_ON = re.compile(r"IOVCtl:\s*Enable([+-])")
_VF_DEVICE = re.compile(r"stride: [0-9]{1,5}, Device ID: ([0-9a-f]{4})\b")
_LENGTH = re.compile(r"Vendor Specific Information: Len=([0-9a-f]{2})\b")
_LENGTH_THAT_MATTERS = 0x08  # of NVIDIA's Virtual P2P Approval, whose bytes lspci does not print


def put_express(told: Told, at: int, text: str) -> PortType | None:
    """Take the PCI Express capability at ``at``; return what kind of port it is, if known."""
    found = _EXPRESS.match(text)
    kind = None if found is None else _PORT_TYPES.get(found[2])
    if found is not None and kind is not None and found[1]:
        told.put(at + 0x02, 2, int(found[1]) | kind << 4)
    if (payload := _PAYLOAD.search(text)) and payload[1] in _PAYLOADS:
        told.put(at + 0x04, 4, _PAYLOADS[payload[1]])
    ordering, now = _ORDERING.search(text), _PAYLOAD_NOW.search(text)
    if ordering and now and now[1] in _PAYLOADS:
        told.put(at + 0x08, 2, (ordering[1] == "+") << 4 | _PAYLOADS[now[1]] << 5)
    if capable := _LINK_CAPABLE.search(text):
        _put_link(told, at + 0x0C, (capable[2], capable[3]), port=int(capable[1]))
    if link := _LINK.search(text):
        _put_link(told, at + 0x12, (link[1], link[2]))
    if (target := _TARGET.search(text)) and target[1] in _SPEEDS:
        told.put(at + 0x30, 2, _SPEEDS[target[1]])
    if kind in _WITHOUT_LINK:
        told.put(at + 0x0C, 4, 0)
        told.put(at + 0x12, 2, 0)
    return kind


def put_acs(told: Told, at: int, text: str, *, control: bool) -> None:
    """Take ACS at ``at``; ``control`` is whether its Control is surely where lspci looks for it."""
    for which, words in _ACS_WORDS.findall(text):
        on = {word[:-1] for word in words.split() if word[-1] == "+"}
        bits = {c: name in on for c, name in LSPCI_NAMES.items()}
        if {word[:-1] for word in words.split()} == set(LSPCI_NAMES.values()):
            value = sum(c.value for c, is_on in bits.items() if is_on)
            if which == "Cap" or control:
                offset = at + (0x04 if which == "Cap" else 0x06)
                told.put(offset, 2, value, untold=_ACS_UNTOLD[which])


def put_ats(told: Told, at: int, text: str) -> None:
    """Take ATS at ``at``."""
    if capability := _ATS_CAPABILITY.search(text):
        told.put(at + 0x04, 2, int(capability[1], 16), untold=_ATS_UNTOLD)
    if control := _ATS_CONTROL.search(text):
        told.put(at + 0x06, 2, (control[1] == "+") << 15 | int(control[2], 16))


def put_sriov(told: Told, at: int, text: str) -> None:
    """Take SR-IOV at ``at``."""
    if on := _VFS_ON.search(text):
        told.put(at + 0x08, 2, int(on[1] == "+"))
    for offset, form in _SRIOV:
        if number := form.search(text):
            told.put(at + offset, 2, int(number[1]))
    if device := _VF_DEVICE.search(text):
        told.put(at + 0x1A, 2, int(device[1], 16))


def put_vendor_specific(told: Told, at: int, text: str) -> None:
    """Take the length of a vendor-specific capability at ``at``, if its contents do not matter."""
    length = _LENGTH.match(text)
    if length is not None and int(length[1], 16) != _LENGTH_THAT_MATTERS:
        told.put(at + 0x02, 2, int(length[1], 16), untold=0xFF00)


def _put_link(told: Told, at: int, link: tuple[str, str], port: int | None = None) -> None:
    """Take a link register, unless its speed is not known though there are lanes.

    Args:
        told: Where to.
        at: Its offset.
        link: Speed and lanes, as printed.
        port: Port Number, of Link Capabilities, which is 32 bits wide; None of Link Status.
    """
    speed, lanes = link[0], int(link[1])
    if speed in _SPEEDS or not lanes:
        word = _SPEEDS.get(speed, 0) | lanes << 4
        told.put(at, 2 if port is None else 4, word | (port or 0) << 24)
