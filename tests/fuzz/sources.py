"""Any bytes as what ``--from`` takes: an archive, a dump, or another text."""

import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.target import Target
from trees.dump import dump, one_switch_functions
from trees.function import root_port
from trees.host import TreeHost

from pcietune.errors import PcietuneError
from pcietune.host.recordings.archive import pack
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.host.temporary import temporary_directory
from pcietune.tune.match.survey import survey

_BLOCK = 512  # bytes of a tar file's header (POSIX, pax, ustar Interchange Format)
_CHECKSUM = slice(148, 156)
_MAGIC = slice(257, 263)
_LISTINGS = (
    "IOMMU Group 7:\n\t0000:24:00.0 Infiniband controller\n",
    "/sys/kernel/iommu_groups/8/devices/0000:24:00.0\n/sys/kernel/iommu_groups/8/type:identity\n",
    "BOOT_IMAGE=/vmlinuz root=/dev/sda1 pci=noats intel_iommu=on\n",
    "6.12.0-amd64\n",
    "[    0.000000] Linux version 6.8.0 (gcc) #52\n[    1.000000] DMAR: IOMMU enabled\n",
    "pci 0000:24:00.0: Adding to iommu group 9\n",
)
_VERBOSE = """\
0000:20:01.0 PCI bridge [0604]: Intel Corporation Device [8086:347a] (prog-if 00 [Normal decode])
\tStatus: Cap+ 66MHz-
\tBus: primary=20, secondary=24, subordinate=24, sec-latency=0
\tCapabilities: [48] Express (v2) Root Port (Slot-), MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\t\tRlxdOrd+ ExtTag-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16
\tCapabilities: [90] Vendor Specific Information: Len=08 <?>
\tCapabilities: [100 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

0000:24:00.0 Infiniband controller [0207]: Mellanox [ConnectX-6] [15b3:101b] (rev 01)
\tFlags: bus master, NUMA node 1
\tCapabilities: [50] Express (v2) Endpoint, MSI 00
\tCapabilities: [100 v1] Single Root I/O Virtualization (SR-IOV)
\t\tIOVCtl:\tEnable+ Migration-
\t\tInitial VFs: 8, Total VFs: 8, Number of VFs: 1, Function Dependency Link: 00
\t\tVF offset: 1, stride: 1, Device ID: 101c
\tCapabilities: [140 v1] Address Translation Service (ATS)
\t\tATSCap:\tInvalidate Queue Depth: 00
\t\tATSCtl:\tEnable+, Smallest Translation Unit: 00
\tCapabilities: [180 v1] #0d

0000:25:00.0 Quantum controller: NVIDIA Corporation Device 2bb5 (rev ff) (prog-if ff)
\t!!! Unknown header type 7f
"""
_TREE = r"""
-+-[0000:20]---01.0-[21-24]----00.0-[22-24]--+-00.0-[23]----00.0  NVIDIA [10de:20f3]
 |                                           \-04.0-[24]--+-[0000:24]---00.0  NIC [15b3:101b]
 |                                                        \-[0000:25]---00.2  a VF
 \-[0001:00]---00.0-[01-10]--
"""


def look_at_dump(data: bytes) -> None:
    """Open a host and read what there is of it; a file may be refused."""
    with temporary_directory() as directory:
        file = directory / "source"
        file.write_bytes(data)
        with suppress(PcietuneError), open_host([file]) as host:
            _look_around(host)


def look_at_archive(data: bytes) -> None:
    """As ``look_at_dump``, of a tar file that is whole in all but what its members are."""
    look_at_dump(_with_checksums(data))


def dumps() -> Iterable[bytes]:
    """Yield what lspci prints of one switch, long and short, and what goes with it."""
    functions = one_switch_functions()
    text = dump(functions, size=64)
    yield text.encode()
    yield dump(functions[:2], size=256).encode()
    yield text.replace("0000:", "").encode()
    yield _TREE.encode()
    yield _VERBOSE.encode()
    yield re.sub(r" \[\w{4}(?::\w{4})?\](?=[: ])", "", _VERBOSE).encode()
    yield _VERBOSE.replace("Capabilities: [100", "Capabilities: <access denied>\n[100").encode()
    yield f"```\n$ lspci -t\n{_TREE}$ cat /proc/cmdline\nBOOT_IMAGE=/x\n```\n=== a ===\n".encode()
    yield f"&gt; 0000:20:01.0 a bridge\n> \u00a0 [wrapped]\n{_TREE}".encode()
    for listing in _LISTINGS:
        yield f"{text}\n{listing}".encode()
        yield listing.encode()
    told = "\tKernel driver in use: vfio-pci\n\tIOMMU group: 7\n\tNUMA node: 1\n"
    yield text.replace("\n00:", f"\n{told}00:").encode()


def archives() -> Iterable[bytes]:
    """Yield an archive of a host that has a root port and nothing else, and one of its text."""
    with TemporaryDirectory() as directory:
        root = TreeHost(Path(directory) / "host")
        root.add(root_port("0000:20:01.0"))
        packed = Path(directory) / "packed.tar"
        pack(root.root, packed)
        yield packed.read_bytes()
        for path in (root.root / "sys/devices/virtual", root.root / "sys/class"):
            shutil.rmtree(path)
        root.config("0000:20:01.0").write_bytes(b"")
        pack(root.root, packed)
        yield packed.read_bytes()


def _with_checksums(data: bytes) -> bytes:
    """Return a tar file with the right checksum in each header, which a fuzzer does not guess."""
    blocks = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)]
    return b"".join(
        _with_checksum(block) if block[_MAGIC].startswith(b"ustar") else block for block in blocks
    )


def _with_checksum(header: bytes) -> bytes:
    blank = header[: _CHECKSUM.start] + b" " * 8 + header[_CHECKSUM.stop :]
    return blank[: _CHECKSUM.start] + b"%06o\0 " % sum(blank) + blank[_CHECKSUM.stop :]


def _look_around(host: SysfsHost) -> None:
    fabric = survey(host, lambda functions: functions)
    host.platform()
    for function in fabric.functions.values():
        with suppress(PcietuneError):
            host.state(function)
            host.link(function)
            host.config(function).read(0x40, 2)


DUMPS = Target(look_at_dump, dumps, longest=8192)
ARCHIVES = Target(look_at_archive, archives, longest=65536)
