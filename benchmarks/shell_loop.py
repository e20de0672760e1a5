"""Whole processes at 200 switch ports, beside loops over lspci and setpci in a shell."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from trees.host import TreeHost

from benchmarks.figure import Figure
from benchmarks.hosts import host_of_switches, ports_above_nics
from benchmarks.in_turns import PCIETUNE, Command, compare, nothing

_SWITCHES = 50  # of four downstream ports
_ROUNDS = 5
_BOUND = 1 / 5
_ARGUMENTS = ("--mode", "vm", "--profile", "gpu-rdma", "--from")
_ACS_CONTROL = 0x106  # of the recorded ports, in bytes; 16 bits
_BY_LINUX = b"\x1d\x00"  # SrcValid, ReqRedir, CmpltRedir, UpstreamFwd
_TUNED = b"\x5d\x00"  # and DirectTrans


def shell_loop() -> list[Figure]:
    """Compare audit and apply with the shell's; both sides of apply must write the same."""
    with host_of_switches(_SWITCHES) as host:
        ports = ports_above_nics(host)
        audits = compare(
            Command([*PCIETUNE, "audit", *_ARGUMENTS, host.root], exit_code=3),
            _by_hand("audit", host),
            rounds=_ROUNDS,
        )
        apply = Command(
            [*PCIETUNE, "apply", *_ARGUMENTS, host.root, "--in-place"],
            prepare=_untuned(host, ports),
        )
        by_hand = _by_hand("apply", host, prepare=_untuned(host, ports))
        for command in (apply, by_hand):
            command.seconds()
            _check_tuned(ports)
        applies = compare(apply, by_hand, rounds=_ROUNDS)
    return [
        Figure("audit of 200 ports : shell loop", str(audits), audits.ratio, _BOUND),
        Figure("apply at 200 ports : shell loop", str(applies), applies.ratio, _BOUND),
    ]


def _by_hand(what: str, host: TreeHost, *, prepare: Callable[[], None] = nothing) -> Command:
    script = Path(__file__).with_name(f"{what}_by_hand.sh")
    return Command(["sh", script, host.root / "sys/bus/pci"], prepare=prepare)


def _untuned(host: TreeHost, ports: Sequence[Path]) -> Callable[[], None]:
    """Return what makes the host as a reboot would leave it."""

    def untune() -> None:
        shutil.rmtree(host.root / "run", ignore_errors=True)
        for config in ports:
            with config.open("r+b") as registers:
                registers.seek(_ACS_CONTROL)
                registers.write(_BY_LINUX)

    return untune


def _check_tuned(ports: Sequence[Path]) -> None:
    """Hold that a command did the whole job: what does nothing is quick.

    Raises:
        RuntimeError: A port is not as it ought to be.
    """
    for config in ports:
        if config.read_bytes()[_ACS_CONTROL:][:2] != _TUNED:
            raise RuntimeError(f"DirectTrans is not set in {config}")
