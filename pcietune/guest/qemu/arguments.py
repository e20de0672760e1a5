"""All of a plan's arguments for QEMU."""

from pcietune.guest.plan import Plan
from pcietune.guest.qemu.devices import device_values


def qemu_arguments(plan: Plan) -> list[str]:
    """Return QEMU's arguments: options and their values in turn."""
    arguments = ["-name", plan.machine.name, "-nodefaults", "-machine", "q35"]
    for value in device_values(plan):
        arguments += ["-device", value]
    return arguments
