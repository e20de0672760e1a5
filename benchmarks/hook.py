"""What a udev event costs: the hook beside a bare interpreter and a shell hook, and a storm."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hook.events import program
from hook.kernel import with_override
from trees.host import TreeHost

from benchmarks.cpu_time import BARE, Job, compare_cpu, ended
from benchmarks.figure import Figure
from benchmarks.hosts import host_of_switches
from benchmarks.in_turns import PCIETUNE, Command
from benchmarks.jobs import untune_ports

_ROUNDS = 51
_SWITCHES = 256  # of four endpoints each: 1,024 events
_AT_ONCE = 8  # processes side by side
_KEPT_FOR_A_UNIT = ", vfio: {bind: [nic], when: 'after:vm.service'}"  # no kernel could probe it
_NIC, _GPU = "0000:05:00.0", "0000:03:00.0"


def hook() -> list[Figure]:
    """Compare the CPU time of hooks with that of a bare interpreter and of a shell hook."""
    with host_of_switches(2) as host:
        _leave_policy(host)
        judging, setting = _hook(host, _GPU), _hook(host, _NIC, prepare=untune_ports(host))
        shell = Job(["sh", Path(__file__).with_name("hook.sh"), _pci(host), _NIC], {})
        figures = [
            _figure("hook that finds all as wanted : python3 -I -S -c pass", judging, BARE, 3),
            _figure("hook that sets a port : python3 -I -S -c pass", setting, BARE, 3),
            _figure("hook that sets a port : shell hook", setting, shell, None),
        ]
    with host_of_switches(2) as host:
        for path in (host.root / "sys/bus/pci/devices").glob("*:0[56]:00.0"):
            with_override(host, path.name, "vfio-pci")  # so that apply has nothing left to do
        _leave_policy(host, _KEPT_FOR_A_UNIT)
        keeping = _hook(host, _NIC, prepare=_set_back(host, _NIC))
        what = "hook that sets a port and an override"
        figures += [
            _figure(f"{what} : python3 -I -S -c pass", keeping, BARE, 3),
            _figure(f"{what} : driverctl load-override", keeping, _driverctl(host, _NIC), None),
        ]
    with host_of_switches(_SWITCHES) as host:
        _leave_policy(host)
        return [*figures, _storm(host)]


def _storm(host: TreeHost) -> Figure:
    """Return the CPU time per event of all endpoints added at once.

    Raises:
        RuntimeError: One of them is not stamped in the end.
    """
    endpoints = [f"{d:04x}:{bus:02x}:00.0" for d in range(_SWITCHES) for bus in range(3, 7)]
    bare = BARE.seconds()
    taken = 0.0
    running: list[int] = []
    for address in endpoints:
        if len(running) == _AT_ONCE:
            taken += ended(running.pop(0))
        running.append(_hook(host, address).start())
    taken += sum(map(ended, running))
    stamped = {path.name for path in (host.root / "run/pcietune/stamps").iterdir()}
    if lost := set(endpoints) - stamped:
        raise RuntimeError(f"{len(lost)} events of {len(endpoints)} were lost")
    each = taken / len(endpoints)
    measured = f"{1000 * each:.1f} ms : {1000 * bare:.1f} ms of CPU, none of {len(endpoints)} lost"
    return Figure("an event of a storm : python3 -I -S -c pass", measured, each / bare, None)


def _figure(what: str, first: Job, second: Job, bound: float | None) -> Figure:
    times = compare_cpu(first, second, rounds=_ROUNDS)
    return Figure(what, str(times), times.ratio, bound)


def _hook(host: TreeHost, address: str, prepare: Callable[[], None] | None = None) -> Job:
    """Return the hook at the ``add`` of a function that has no stamp."""

    def without_stamp() -> None:
        (host.root / "run/pcietune/stamps" / address).unlink(missing_ok=True)
        if prepare is not None:
            prepare()

    argv: Sequence[str | Path] = (sys.executable, "-I", "-S", "-c", program(host.root))
    return Job(argv, {"ACTION": "add", "PCI_SLOT_NAME": address}, without_stamp)


def _set_back(host: TreeHost, address: str) -> Callable[[], None]:
    """Return what lets ports be untuned, and a function have no override."""
    untune = untune_ports(host)

    def set_back() -> None:
        untune()
        with_override(host, address)

    return set_back


def _driverctl(host: TreeHost, address: str) -> Job:
    """Return what driverctl's unit runs at the ``add`` of a function, on the host's tree.

    Raises:
        RuntimeError: driverctl is not installed.
    """
    installed = shutil.which("driverctl")
    if installed is None:
        raise RuntimeError("no driverctl: apt-get install driverctl")
    host.put(f"etc/driverctl.d/pci-{address}", "vfio-pci")
    host.put("sys/module/vfio-pci/initstate", "live")  # as it looks for it: nothing is to be loaded
    script = Path(installed).read_text().replace("/sys/", f"{host.root}/sys/")
    script = script.replace("/etc/driverctl.d", f"{host.root}/etc/driverctl.d")
    device = (host.root / "sys/bus/pci/devices" / address).resolve()
    environ = {"DEVPATH": str(device.relative_to(host.root / "sys"))}
    argv = ["bash", "-c", script, "driverctl", "--noprobe", "load-override", address]
    return Job(argv, environ, _without_override(host, address))


def _without_override(host: TreeHost, address: str) -> Callable[[], None]:
    """Return what takes the override away, and misses it if it was not there.

    Raises:
        RuntimeError: When it is called: the run before left none.
    """
    runs = 0

    def take_away() -> None:
        nonlocal runs
        file = host.root / "sys/bus/pci/devices" / address / "driver_override"
        if runs and file.read_text().strip() != "vfio-pci":
            raise RuntimeError("driverctl set no override")
        with_override(host, address)
        runs += 1

    return take_away


def _leave_policy(host: TreeHost, more: str = "") -> None:
    """Leave the policy as apply does, on ports that are not tuned yet."""
    settings = f"{{profile: gpu-rdma, mode: vm, enforce: apply{more}}}"
    host.put("etc/pcietune/pcietune.yaml", settings)
    Command([*PCIETUNE, "apply", "--from", host.root, "--in-place"]).seconds()
    untune_ports(host)()
    for stamp in (host.root / "run/pcietune/stamps").iterdir():
        stamp.unlink()


def _pci(host: TreeHost) -> Path:
    return host.root / "sys/bus/pci"
