"""Whether all BARs of the planned functions have an address in the VM.

One that did not fit in the 64-bit window has none, and the kernel then shows no resource at all
(drivers/pci/setup-bus.c, reset_resource), or one that is not set.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pcietune.guest.check.row import Aspect, Row, Verdict, not_known
from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Firmware
from pcietune.guest.plan import Plan
from pcietune.model.access import HostAccess
from pcietune.model.bars import Bar, bars_of
from pcietune.model.function import PciFunction

_RESOURCE = "resource"
_NOT_PLANNED = "not known when it was planned"
_OTHER_SIZE = (
    "it has as many BARs as planned, of another size: was it resized (resizable BAR) or its "
    "firmware changed since? Plan again, since the VM's window was made for the sizes of then"
)
_FOUR_GIB = 1 << 32
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def check_bars(plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess) -> Iterator[Row]:
    """Yield whether each function has the memory BARs that were planned, each with an address."""
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None:
            continue
        planned = [*passed.bars_64, *passed.bars_32]
        words = _words(planned) if planned else _NOT_PLANNED
        text = host.attribute(function, _RESOURCE)
        if text is None:
            yield not_known(passed.name, Aspect.BARS, words, "sysfs shows no resource")
            continue
        try:
            bars = [bar for bar in bars_of(text) if bar.is_memory]
        except ValueError as error:
            yield not_known(passed.name, Aspect.BARS, words, f"resource: {error}")
            continue
        why = _why_other(plan, passed, bars)
        found = _words([bar.size for bar in bars if bar.assigned])
        verdict = Verdict.DIFFERS if why else Verdict.PASS
        yield Row(passed.name, Aspect.BARS, verdict, words, found, why)


def _why_other(plan: Plan, passed: Passed, bars: Sequence[Bar]) -> str:
    """Return why BARs are not as planned; empty if they are, or if that was not known."""
    planned = [*passed.bars_64, *passed.bars_32]
    found = [bar.size for bar in bars if bar.assigned]
    unset = [bar.size for bar in bars if not bar.assigned]
    lacking = list((Counter(planned) - Counter(found)).elements())
    if not unset and lacking and len(found) == len(planned):
        return _OTHER_SIZE
    without = unset or lacking
    return _why(plan, passed, without) if without else ""


def _why(plan: Plan, passed: Passed, without: Sequence[int]) -> str:
    named = _words(without)
    if any(size in passed.bars_64 or size >= _FOUR_GIB for size in without):
        wanted = plan.budget.memory_64_mib
        how = (
            f"-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string={wanted}"
            if plan.machine.firmware is Firmware.OVMF
            else f"-global q35-pcihost.pci-hole64-size={wanted}M"
        )
        return (
            f"{named} has no address: the VM's 64-bit window is too small (the plan's is {wanted} "
            f"MiB: {how}), or its CPU has too few address bits (host-phys-bits=on); see dmesg"
        )
    return f"{named} has no address: the VM's window below 4 GiB is full; see dmesg"


def _words(sizes: Sequence[int]) -> str:
    return " + ".join(map(_size, sorted(sizes, reverse=True))) or "none"


def _size(size: int) -> str:
    return next(
        (f"{size // unit} {name}" for unit, name in _UNITS if size >= unit and not size % unit),
        f"{size} bytes",
    )
