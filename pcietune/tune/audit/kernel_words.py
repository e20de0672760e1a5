"""What mends all ports which only the kernel may mend, as it boots.

Of several ``pci=disable_acs_redir=`` or ``pci=config_acs=`` words the last one wins, so one word
must have in it each port that needs it: ``pcietune kernel-args`` makes it.
"""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.vfio_use import ISOLATION


def with_kernel_words(bits: Sequence[JudgedBit]) -> list[JudgedBit]:
    """Return the bits, those that the kernel command line mends with what to write there."""
    open_bits = [bit for bit in bits if _is_for_the_kernel(bit)]
    without = _without_words([bit for bit in open_bits if _is_the_kernels_own(bit)])
    return [
        _with_command(bit, without if _is_the_kernels_own(bit) else _command(bit))
        if _is_for_the_kernel(bit)
        else bit
        for bit in bits
    ]


def _is_for_the_kernel(bit: JudgedBit) -> bool:
    remedy = bit.finding.remedy
    return (
        bit.finding.state is State.FAIL
        and remedy is not None
        and remedy.kind is RemedyKind.KERNEL_ARGS
        and not remedy.command
    )


def _is_the_kernels_own(bit: JudgedBit) -> bool:
    """Return whether the kernel sets this by itself where an IOMMU is on."""
    return bit.requirement.want.on and bit.requirement.want.control in ISOLATION


def _with_command(bit: JudgedBit, command: str) -> JudgedBit:
    remedy = Remedy(RemedyKind.KERNEL_ARGS, command)
    return replace(bit, finding=replace(bit.finding, remedy=remedy))


def _without_words(bits: Sequence[JudgedBit]) -> str:
    """Return how the kernel comes to set what it sets by itself, at all of these ports."""
    ports = ", ".join(dict.fromkeys(bit.requirement.placed.port.location for bit in bits))
    return (
        "boot with the IOMMU on and without pci=disable_acs_redir, or a 0 or x of pci=config_acs, "
        f"for {ports}: the kernel sets it at enumeration, before groups form"
    )


def _command(bit: JudgedBit) -> str:
    """Return what makes the word: merged with the site's own, by what this kernel takes."""
    return f"pcietune kernel-args --mode {bit.requirement.mode} --write LOADER, then reboot"
