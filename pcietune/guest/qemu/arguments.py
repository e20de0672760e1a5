"""All of a plan's arguments for QEMU."""

from pcietune.guest.needs import check_needs
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.devices import device_values
from pcietune.guest.qemu.machine import machine_arguments
from pcietune.guest.qemu.memory import memory_arguments
from pcietune.guest.qemu.options import QemuOptions


def qemu_arguments(plan: Plan, options: QemuOptions) -> list[str]:
    """Return QEMU's arguments: options, each with its value if it has one.

    Raises:
        BadInputError: The QEMU that the plan is for, or its GPUs, cannot do what the plan says.
    """
    check_needs(plan)
    return [
        *machine_arguments(plan, options),
        *memory_arguments(plan.cells),
        *(word for value in device_values(plan) for word in ("-device", value)),
    ]
