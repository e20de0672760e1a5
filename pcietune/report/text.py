"""What a host is and how it is judged, as plain lines for people."""

from collections.abc import Iterable

from pcietune.model.protection import Protection
from pcietune.report.findings_text import summary
from pcietune.report.outcome import Outcome


def heading(outcome: Outcome) -> Iterable[str]:
    """Yield what the host is and how it is judged."""
    platform = outcome.platform
    if platform is not None:
        dmi = platform.dmi
        names = " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name"))))
        kernel = platform.kernel or "not known"
        yield f"host     {names or 'name not known'}, kernel {kernel}"
    if outcome.match is not None:
        why = "; ".join(outcome.match.why)
        yield f"profile  {outcome.match.profile.name}: {why}"
    if outcome.mode is not None:
        yield f"mode     {outcome.mode}"
    for name, mode in sorted(outcome.group_modes.items()):
        yield f"mode     {mode} of switch group {name}"
    if outcome.disabled is not None:
        yield f"disabled {outcome.disabled}"
    if outcome.guard is not None and outcome.guard.why_held is not None:
        yield f"guard    {outcome.guard.why_held}"
    if outcome.nothing_here:
        yield "There is no GPU on this host: nothing here for pcietune."


def status(outcome: Outcome) -> Iterable[str]:
    """Yield which ways are open, and how many findings there are of each kind."""
    if outcome.enforce is not None:
        yield f"enforce  {outcome.enforce}"
    yield from _protected(outcome.protection)
    if outcome.channels is not None:
        ways = outcome.channels
        for name, way in (
            ("registers", ways.registers),
            ("group type", ways.group_type),
            ("config_acs", ways.config_acs),
            ("firmware", ways.firmware),
        ):
            yield f"channel  {name}: {way.state} ({way.reason})"
    for line in summary(outcome):
        yield f"judged   {line}"


def _protected(protection: Protection | None) -> Iterable[str]:
    """Yield what is never touched, a line for each reason, and what is not known of it."""
    if protection is None:
        return
    by_reason: dict[str, list[str]] = {}
    for address, reason in protection.why.items():
        by_reason.setdefault(reason, []).append(str(address))
    for reason, addresses in by_reason.items():
        yield f"protect  {', '.join(addresses)}: {reason}"
    for sentence in protection.not_known:
        yield f"protect  not known: {sentence}"
