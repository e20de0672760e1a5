"""What the page says of the host as a whole."""

from collections.abc import Iterator

from pcietune.model.platform import Platform
from pcietune.report.outcome import Outcome


def host_name(platform: Platform | None) -> str:
    """Return what firmware calls the host."""
    dmi = {} if platform is None else platform.dmi
    return " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name")))) or "a host"


def facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield names and values."""
    match, platform = outcome.match, outcome.platform
    if match is not None:
        yield "Profile", f"{match.profile.name}: {'; '.join(match.why)}"
    else:
        yield "Profile", "none describes this host"
    yield "Mode", "not set, so nothing is judged" if outcome.mode is None else outcome.mode
    for name, mode in sorted(outcome.group_modes.items()):
        yield "Mode", f"{mode} of switch group {name}"
    if outcome.disabled is not None:
        yield "Switched off", outcome.disabled
    if platform is not None:
        yield from _platform(platform)


def _platform(platform: Platform) -> Iterator[tuple[str, str]]:
    yield "Kernel", platform.kernel or "not known"
    yield "Command line", "not known" if platform.cmdline is None else platform.cmdline or "empty"
    units = platform.iommu_units.values()
    kinds = {"ATS": True, "no ATS": False, "ATS not known": None}
    told = [
        f"{', '.join(names)} ({word})"
        for word, has in kinds.items()
        if (names := [f"{unit.name} {unit.kind}" for unit in units if unit.device_tlb is has])
    ]
    yield "IOMMU", "; ".join(told) or "none seen"
    yield "Lockdown", platform.lockdown
    for key, name in (("board_name", "Board"), ("bios_version", "Firmware")):
        if key in platform.dmi:
            yield name, platform.dmi[key]
