"""Configuration cycles of an audit on the bench's A800 machine, counted beside those of lspci.

The kernel splits a read of ``config`` into aligned accesses of at most 4 bytes, a cycle each
(drivers/pci/pci-sysfs.c, pci_read_config), so strace sees all that there is to count. What a
function has, and so what an audit has to read of it, is taken from what lspci says.
"""

import re
from collections import Counter

from bench.boot import booted
from bench.guest import Guest, Result
from bench.machine import load_machine
from bench.on_guest import VM, audited

from benchmarks.figure import Figure

_TRACE = "/run/config-reads"
_READ = re.compile(
    r"(p?read)(?:64)?\(\d+<\S*/([0-9a-f:.]+)/config>, [^,]*, \d+(?:, (\d+))?\) += (\d+)"
)
_BOUND = 1 / 5


def config_cycles() -> list[Figure]:
    """Compare audit with ``lspci -vvv``, and each function's cycles with what it may cost."""
    with booted(load_machine("a800")) as guest:
        said, theirs = _traced(guest, "lspci", "-D", "-vvv")
        _, ours = _traced(guest, *guest.PCIETUNE, "audit", *VM)
        concerned = {finding.subject.address for finding in audited(guest).findings}
    needed = {address: _needed(text) for address, text in _blocks(said.stdout).items()}
    idle = needed.keys() - concerned
    worst = max(needed, key=lambda address: ours[address] / max(needed[address], 1))
    return [
        Figure(
            "config cycles of audit : lspci -vvv",
            f"{ours.total()} : {theirs.total()}",
            ours.total() / theirs.total(),
            _BOUND,
        ),
        Figure(
            "cycles of a function : its lists and registers",
            f"{ours[worst]} : {needed[worst]} at worst, {worst}",
            ours[worst] / max(needed[worst], 1),
            1,
        ),
        Figure(
            "cycles of functions that nothing is wanted of",
            f"{sum(ours[a] for a in idle)} on {len(idle)} functions",
            sum(ours[a] for a in idle) / ours.total(),
            0,
        ),
    ]


def _traced(guest: Guest, *argv: str) -> tuple[Result, Counter[str]]:
    """Run a command; return how it ended, and each function's cycles by address.

    Raises:
        RuntimeError: It failed, or read no register at all.
    """
    result = guest.run("strace", "-f", "-y", "-s0", "-etrace=read,pread64", "-o", _TRACE, *argv)
    cycles: Counter[str] = Counter()
    for call, address, offset, size in _READ.findall(guest.read_file(_TRACE).decode()):
        if call == "read":
            raise RuntimeError(f"{argv} reads {address} at an offset that the trace does not show")
        cycles[address] += _cycles(int(offset), int(size))
    if result.returncode not in (0, 3) or not cycles:
        raise RuntimeError(f"{argv}: {result}")
    return result, cycles


def _cycles(offset: int, size: int) -> int:
    """Return how many accesses the kernel makes of a read of ``size`` bytes at ``offset``."""
    accesses = 0
    while size > 0:
        width = next(w for w in (4, 2, 1) if w <= size and offset % w == 0)
        offset, size, accesses = offset + width, size - width, accesses + 1
    return accesses


def _blocks(said: str) -> dict[str, str]:
    """Return what lspci says of each function, by address."""
    return {block.partition(" ")[0]: block for block in said.strip().split("\n\n")}


def _needed(said: str) -> int:
    """Return the cycles that a function may cost, by what lspci says of it.

    A port: its type and Device Control; an upstream port the two registers of its link, all others
    ACS Capability and Control. A GPU: Device Capabilities and Control, and its link's two. A NIC:
    the same, and ATS Capability and Control. Each list is walked as far as a register asks for it:
    Status, the pointer and every header of the one, every header of the other. All else costs none.
    """
    walk = 2 + len(re.findall(r"Capabilities: \[[0-9a-f]{2}\]", said))
    extended = len(re.findall(r"Capabilities: \[[0-9a-f]{3}\b", said))
    if "Upstream Port" in said:
        return walk + 4
    if "Root Port" in said or "Downstream Port" in said:
        return walk + 2 + extended + 2
    if "ATSCtl:" in said:
        return walk + 4 + extended + 2
    return walk + 4 if "3D controller" in said.partition("\n")[0] else 0
