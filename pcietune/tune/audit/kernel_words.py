"""The one word of the kernel command line that mends all ports which only the kernel may mend.

Of several ``pci=disable_acs_redir=`` or ``pci=config_acs=`` words the last one wins, and what
``config_acs`` names it sets after ``disable_acs_redir`` (drivers/pci/pci.c, pci_setup and
pci_enable_acs): so there must be one word, of one kind, with every port in it.
"""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.registers.acs import Acs, AcsControl
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.vfio_use import ISOLATION

_CLEARED_BY_DISABLE_ACS_REDIR = (
    AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.P2P_EGRESS_CONTROL
)


def with_kernel_words(bits: Sequence[JudgedBit]) -> list[JudgedBit]:
    """Return the bits, those that the kernel command line mends with what to write there."""
    open_bits = [bit for bit in bits if _is_for_the_kernel(bit)]
    word = _word([bit for bit in open_bits if not _is_the_kernels_own(bit)])
    without = _without_words([bit for bit in open_bits if _is_the_kernels_own(bit)])
    return [
        _with_command(bit, without if _is_the_kernels_own(bit) else word)
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
        f"boot with the IOMMU on and without pci=disable_acs_redir or pci=config_acs for {ports}: "
        "the kernel sets it at enumeration, before groups form"
    )


def _word(bits: Sequence[JudgedBit]) -> str:
    """Return the word; ``disable_acs_redir`` where that does it all, as every kernel knows it."""
    ports: dict[str, AcsControl] = {}
    for bit in bits:
        want, path = bit.requirement.want, bit.requirement.placed.port.location
        known = ports.setdefault(path, _enabled(bit.acs))
        ports[path] = known | want.control if want.on else known & ~want.control
    if all(_is_redirection_off(bit) for bit in bits):
        word = f"pci=disable_acs_redir={';'.join(ports)}"
    else:
        # Every control is spelled out: an x leaves what firmware set, not what the kernel adds.
        entries = (f"{enabled.value:07b}@{path}" for path, enabled in ports.items())
        word = f"pci=config_acs={';'.join(entries)} on kernel 6.11 or later"
    return f"{word}, quoted in GRUB's configuration; then reboot"


def _is_redirection_off(bit: JudgedBit) -> bool:
    want = bit.requirement.want
    return not want.on and want.control in _CLEARED_BY_DISABLE_ACS_REDIR


def _enabled(acs: Acs | None) -> AcsControl:
    return AcsControl(0) if acs is None else acs.enabled
