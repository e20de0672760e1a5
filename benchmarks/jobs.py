"""The jobs that are timed on a recorded host: pcietune's, and what is usual without it."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from trees.host import TreeHost

from benchmarks.hosts import ports_above_nics
from benchmarks.in_turns import PCIETUNE, Command

_ARGUMENTS = ("--mode", "vm", "--profile", "gpu-rdma", "--from")
_LOOP = Path(__file__).with_name("shell-loop.sh")
_ACS_CONTROL = 0x106  # of the recorded ports, in bytes; 16 bits
_BY_LINUX = b"\x1d\x00"  # SrcValid, ReqRedir, CmpltRedir, UpstreamFwd
_TUNED = b"\x5d\x00"  # and DirectTrans


def audit(host: TreeHost) -> Command:
    """Return pcietune's audit of a host that no port of is tuned."""
    return Command([*PCIETUNE, "audit", *_ARGUMENTS, host.root], exit_code=3)


def audit_loop(host: TreeHost) -> Command:
    """Return the shell's audit."""
    return Command(["sh", _LOOP, "audit", _pci(host)])


def apply(host: TreeHost) -> Command:
    """Return pcietune's apply, which does the whole job each time."""
    return Command(
        [*PCIETUNE, "apply", *_ARGUMENTS, host.root, "--in-place"],
        prepare=_untuned(host),
        check=_tuned(host),
    )


def apply_loop(host: TreeHost) -> Command:
    """Return the shell's apply, which must write what pcietune's writes."""
    return Command(["sh", _LOOP, "apply", _pci(host)], prepare=_untuned(host), check=_tuned(host))


def lspci(host: TreeHost) -> Command:
    """Return one lspci that decodes every function, as root does to look at a host."""
    return Command(["lspci", "-O", f"sysfs.path={_pci(host)}", "-D", "-vvv"])


def untune(host: TreeHost) -> None:
    """Leave the host as a reboot would."""
    _untuned(host)()


def untune_ports(host: TreeHost) -> Callable[[], None]:
    """Return what sets the ports above NICs to what Linux sets them to, and nothing else."""
    ports = ports_above_nics(host)

    def untune() -> None:
        for config in ports:
            with config.open("r+b") as registers:
                registers.seek(_ACS_CONTROL)
                registers.write(_BY_LINUX)

    return untune


def _pci(host: TreeHost) -> Path:
    return host.root / "sys/bus/pci"


def _untuned(host: TreeHost) -> Callable[[], None]:
    untune_them = untune_ports(host)

    def untune() -> None:
        shutil.rmtree(host.root / "run", ignore_errors=True)
        untune_them()

    return untune


def _tuned(host: TreeHost) -> Callable[[], None]:
    """Return what holds that a command did the whole job: what does nothing is quick."""
    ports: Sequence[Path] = ports_above_nics(host)

    def check() -> None:
        for config in ports:
            if config.read_bytes()[_ACS_CONTROL:][:2] != _TUNED:
                raise RuntimeError(f"DirectTrans is not set in {config}")

    return check
