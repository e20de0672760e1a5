"""Whole processes at 200 switch ports, beside loops over lspci and setpci in a shell."""

from benchmarks.figure import Figure
from benchmarks.hosts import host_of_switches
from benchmarks.in_turns import compare
from benchmarks.jobs import apply, apply_loop, audit, audit_loop, untune

_SWITCHES = 50  # of four downstream ports
_ROUNDS = 5
_BOUND = 1 / 5


def shell_loop() -> list[Figure]:
    """Compare audit and apply with the shell's."""
    with host_of_switches(_SWITCHES) as host:
        applies = compare(apply(host), apply_loop(host), rounds=_ROUNDS)
        untune(host)
        audits = compare(audit(host), audit_loop(host), rounds=_ROUNDS)
    return [
        Figure("audit of 200 ports : shell loop", str(audits), audits.ratio, _BOUND),
        Figure("apply at 200 ports : shell loop", str(applies), applies.ratio, _BOUND),
    ]
