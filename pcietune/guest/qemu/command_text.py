"""QEMU's arguments as a command for a shell, with what arguments cannot say."""

import shlex
from collections.abc import Iterator, Sequence

from pcietune.guest.layout.budget import address_bits
from pcietune.guest.number_list import number_list
from pcietune.guest.plan import Plan

_PROGRAM = "qemu-system-x86_64"


def command_lines(plan: Plan, arguments: Sequence[str]) -> list[str]:
    """Return a command that a shell takes as it is, an option with its value in each line."""
    lines = [_PROGRAM, *(f"    {each}" for each in _options(arguments))]
    return [
        *(f"{line} \\" for line in lines[:-1]),
        lines[-1],
        *(f"# {each}" for each in _beside(plan)),
    ]


def _options(arguments: Sequence[str]) -> Iterator[str]:
    option: list[str] = []
    for argument in arguments:
        if argument.startswith("-") and option:
            yield shlex.join(option)
            option = []
        option.append(argument)
    yield shlex.join(option)


def _beside(plan: Plan) -> Iterator[str]:
    """Yield what is left to whoever starts the VM."""
    yield "Add disk, network and console: they may have slots 1 to f of pcie.0."
    bits = address_bits(plan.budget, sum(cell.memory_mib for cell in plan.cells))
    yield f"Its addresses have {bits} bits; /proc/cpuinfo tells how many the host's CPU has."
    for cell in plan.cells:
        if cell.host_cpus:
            yield (
                f"QEMU pins no vCPU. Of cell {cell.cell} pin each thread `CPU N/KVM` to its own CPU"
                " by taskset -cp CPU THREAD:"
            )
            pairs = zip(cell.vcpus, cell.host_cpus, strict=False)
            yield "  " + " ".join(f"{vcpu}:{cpu}" for vcpu, cpu in pairs)
            yield f"  and QEMU's other threads to {number_list(cell.host_cpus)}"
