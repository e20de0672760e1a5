"""A function in the hands of VFIO, as a running VM has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.guest import Guest

_HOLD = Path(__file__).parent / "guest_parts" / "hold_vfio.py"


@contextmanager
def held_by_vfio(guest: Guest, address: str) -> Iterator[None]:
    """Have a program hold a function open through VFIO for a while."""
    guest.write_file("/run/hold_vfio.py", _HOLD.read_bytes())
    guest.run(
        *("sh", "-c"),
        "modprobe vfio-pci; mkfifo /run/hold;"
        " (sleep infinity > /run/hold & echo $! > /run/hold.pid;"
        f" exec python3 /run/hold_vfio.py {address} < /run/hold > /run/held 2>&1) &"
        " for i in $(seq 200); do grep -q held /run/held 2>/dev/null && break; sleep 0.1; done",
    )
    held = guest.read_file("/run/held").decode()
    assert held == "held\n", held
    try:
        yield
    finally:
        guest.run(
            *("sh", "-c"),
            "kill $(cat /run/hold.pid); rm -f /run/hold /run/held;"
            f" for i in $(seq 100); do grep -q 0 /sys/bus/pci/devices/{address}/enable && break;"
            " sleep 0.1; done",
        )
        _unbind(guest, address)


@contextmanager
def bound(guest: Guest, address: str, driver: str) -> Iterator[None]:
    """Have a function bound to a driver for a while, as ``driver_override`` does it."""
    device = f"/sys/bus/pci/devices/{address}"
    guest.run(
        *("sh", "-c"),
        f"modprobe {driver}; echo {driver} > {device}/driver_override;"
        f" echo {address} > /sys/bus/pci/drivers_probe",
    )
    link = guest.run("readlink", f"{device}/driver").stdout
    assert link.endswith(f"/{driver}\n"), link
    try:
        yield
    finally:
        _unbind(guest, address)


def _unbind(guest: Guest, address: str) -> None:
    """Take a function from its driver, and have its native one probe it again."""
    device = f"/sys/bus/pci/devices/{address}"
    guest.run(
        *("sh", "-c"),
        f"echo {address} > {device}/driver/unbind; echo > {device}/driver_override",
    )
