"""The forms that the fields of a plan have, which its reader holds each of them to.

A plan is written by one program, and read by root on another day from a file that anybody may have
had. So nothing in it that becomes a word of a command, a property of QEMU's or an address can hold
what any of these takes for its own: a line break, a blank, a comma, a quote, a slash.
"""

from typing import Annotated

from msgspec import Meta

MOST_MIB = 1 << 32  # 52 address bits, the most that x86 has
VM_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"

VmName = Annotated[str, Meta(pattern=rf"\A{VM_NAME}\Z")]
"""A VM's name."""

DeviceName = Annotated[str, Meta(pattern=r"\A[A-Za-z][A-Za-z0-9_-]{0,62}\Z")]
"""An id in QEMU (id_wellformed of util/id.c) that libvirt takes for an alias, too."""

BusName = Annotated[str, Meta(pattern=r"\A(pcie\.0|[A-Za-z][A-Za-z0-9_-]{0,62})\Z")]
"""``pcie.0``, or a bridge's name."""

Address = Annotated[str, Meta(pattern=r"\A[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]\Z")]
"""An address in full and in lower case."""

Location = Annotated[str, Meta(pattern=r"\A[0-9a-f:./]{1,4096}\Z")]
"""A location on the host."""

Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{4}:[0-9a-f]{4}\Z")]
"""Vendor and Device ID."""

ClassCode = Annotated[str, Meta(pattern=r"\A0x[0-9a-f]{6}\Z")]
"""24 bits."""

LinkSpeed = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z./ ]{1,40}\Z")]
"""A link's speed as sysfs prints it."""

PortSpeed = Annotated[str, Meta(pattern=r"\A(2_5|5|8|16|32|64)\Z")]
"""A value of QEMU's ``x-speed``; the last two since 9.0."""

Release = Annotated[str, Meta(pattern=r"\A[0-9]{1,3}\.[0-9]{1,3}\Z")]
"""A release of QEMU."""

Word = Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9_.-]{0,254}\Z")]
"""A name of ours, as of a board."""

Device = Annotated[int, Meta(ge=0, le=31)]
Function = Annotated[int, Meta(ge=0, le=7)]
Bus = Annotated[int, Meta(ge=0, le=255)]
Lanes = Annotated[int, Meta(ge=0, le=32)]
Chassis = Annotated[int, Meta(ge=0, le=255)]  # 8 bits (QEMU's hw/pci/pcie_port.c)
PhysicalSlot = Annotated[int, Meta(ge=0, le=0x1FFF)]  # 13 bits of the Slot Capabilities
CellNumber = Annotated[int, Meta(ge=0, le=127)]  # QEMU's MAX_NODES, 128
HostNode = Annotated[int, Meta(ge=0, le=1023)]  # the kernel's MAX_NUMNODES at most, 1 << 10
Cpu = Annotated[int, Meta(ge=0, le=0xFFFF)]  # beyond what kernels and QEMU have
Threads = Annotated[int, Meta(ge=1, le=8)]  # of a core
Mebibytes = Annotated[int, Meta(ge=0, le=MOST_MIB)]
SomeMebibytes = Annotated[int, Meta(ge=1, le=MOST_MIB)]
HugepageKib = Annotated[int, Meta(ge=1024, le=1 << 24, multiple_of=1024)]
Distance = Annotated[int, Meta(ge=10, le=255)]  # ACPI's SLIT
Bytes = Annotated[int, Meta(ge=1, le=1 << 52)]
Clique = Annotated[int, Meta(ge=0, le=15)]  # QEMU's hw/vfio/pci-quirks.c
Natural = Annotated[int, Meta(ge=0, le=0xFFFF_FFFF)]
Module = Annotated[int, Meta(ge=1, le=16)]  # GPUs of one Fabric Manager
