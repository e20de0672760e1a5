"""What the guest's kernel itself noted, by one clock: words written, drivers bound, programs run.

The kernel's command line starts it (Documentation/trace/kprobetrace.rst, boottime-trace), so it is
there before the initramfs, and it says nothing of pcietune's own making.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FILE = "/sys/kernel/tracing/trace"
_PROBES = {
    # pci_user_write_config_*() is what a write to sysfs's config comes to.
    **{
        f"wrote_{size}": f"pci_user_write_config_{size},"
        "device=dev->dev.kobj.name:string,pos=pos,val=val:x32"
        for size in ("byte", "word", "dword")
    },
    "bound": "driver_bound,device=dev->kobj.name:string,driver=dev->driver->name:string",
}
KERNEL_WORDS = [
    "trace_clock=mono",
    "trace_event=sched:sched_process_exec",
    "kprobe_event=" + ";".join(f"p:{name},{probe}" for name, probe in _PROBES.items()),
]

_LINE = re.compile(r"^ .{15}-\d+ +\[\d+\] \S+ +(\d+\.\d+): (\w+): (.*)$", re.MULTILINE)
_BOUND = re.compile(r'device="(.*?)" driver="(.*?)"')
_WROTE = re.compile(r'device="(.*?)" pos=(\d+) val=(0x[0-9a-f]+)')
_RAN = re.compile(r"filename=(.*) pid=")


@dataclass(frozen=True, slots=True)
class Bound:
    """A device got a driver, after its probe had succeeded.

    Attributes:
        time: CLOCK_MONOTONIC, in seconds.
        device: Its name: a PCI function's address.
        driver: The driver's name.
    """

    time: float
    device: str
    driver: str


@dataclass(frozen=True, slots=True)
class Wrote:
    """A program wrote to Configuration Space.

    Attributes:
        time: CLOCK_MONOTONIC, in seconds.
        device: The function's address.
        offset: In bytes.
        value: What it wrote.
        size: ``byte``, ``word`` or ``dword``.
    """

    time: float
    device: str
    offset: int
    value: int
    size: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A process began to run a program.

    Attributes:
        time: CLOCK_MONOTONIC, in seconds.
        program: The path by which it was run; a script's own.
    """

    time: float
    program: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, in its order."""

    bound: list[Bound]
    wrote: list[Wrote]
    ran: list[Ran]

    def between(self, start: float, end: float) -> "Trace":
        """Return what happened from one time on and before another."""
        return Trace(
            [each for each in self.bound if start <= each.time < end],
            [each for each in self.wrote if start <= each.time < end],
            [each for each in self.ran if start <= each.time < end],
        )


def parse(text: str) -> Trace:
    """Read what the kernel says in ``FILE``."""
    entries = list(_entries(text))
    return Trace(
        [Bound(time, *_fields(_BOUND, rest)) for time, name, rest in entries if name == "bound"],
        [_wrote(time, name, rest) for time, name, rest in entries if name.startswith("wrote_")],
        [
            Ran(time, *_fields(_RAN, rest))
            for time, name, rest in entries
            if name == "sched_process_exec"
        ],
    )


def _entries(text: str) -> Iterator[tuple[float, str, str]]:
    """Yield time, kind and the rest of each entry."""
    written = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", text)
    assert written is not None, text[:200]
    assert written[1] == written[2], "the kernel's buffer has run over"
    for time, kind, rest in _LINE.findall(text):
        yield float(time), kind, rest


def _wrote(time: float, name: str, rest: str) -> Wrote:
    device, offset, value = _fields(_WROTE, rest)
    size = name.removeprefix("wrote_")
    return Wrote(time, device, int(offset), int(value, 16), size)


def _fields(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.search(text)
    assert match is not None, text
    return match.groups()
