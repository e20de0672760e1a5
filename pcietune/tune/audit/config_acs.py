"""What the kernel makes of ``pci=config_acs=`` and ``pci=disable_acs_redir=``.

By drivers/pci/pci.c, __pci_config_acs: since commit 47c8846a49ba (v6.11), and as commit
9cf8a952d57b ("PCI/ACS: Fix 'pci=config_acs=' parameter") mended it in v6.15, 6.14.2, 6.13.11 and
6.12.23. Each function here takes the value of the option, and the words that it starts from.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pcietune.model.kernel_release import KernelRelease
from pcietune.registers.acs import AcsControl
from pcietune.tune.vfio_use import ISOLATION

REDIRECTION = (
    AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.P2P_EGRESS_CONTROL
)
"""What ``disable_acs_redir`` turns off."""
_ALL_CONTROLS = (~AcsControl(0)).value
_WORD = 0xFFFF
_SEPARATOR = re.compile("[;,]")
_FIRST_WITH_FIX = {(6, 12): 23, (6, 13): 11, (6, 14): 2}


class Semantics(Enum):
    """What a kernel makes of the options."""

    NO_CONFIG_ACS = "before 6.11"
    BROKEN = "6.11 to 6.14"
    FIXED = "6.15, 6.14.2, 6.13.11, 6.12.23 and later"


@dataclass(frozen=True, slots=True)
class Words:
    """ACS Control before the options count.

    Attributes:
        firmware: As the kernel found it.
        kernel: With what the kernel adds by itself where an IOMMU is on.
    """

    firmware: int
    kernel: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``config_acs``: ``101xxxx@0039:00:00.0``.

    Attributes:
        text: As it is written.
        device: What stands behind the ``@``; None without one, so that the kernel drops it.
        mask: Controls that are 0 or 1 in it; None where the flags are none.
        flags: Controls that are 1.
    """

    text: str
    device: str | None
    mask: int | None
    flags: int

    @property
    def is_valid(self) -> bool:
        """Whether the kernel takes it."""
        return self.device is not None and self.mask is not None

    @property
    def left_to_firmware(self) -> AcsControl:
        """Controls of isolation that stay as firmware left them, on a fixed kernel."""
        return AcsControl(0) if self.mask is None else ISOLATION & ~AcsControl.decode(self.mask)


def semantics_of(release: KernelRelease | None) -> Semantics | None:
    """Return what a kernel makes of the options; None if its release does not tell."""
    if release is None:
        return None
    if release.is_before((6, 11)):
        return Semantics.NO_CONFIG_ACS
    if not release.is_before((6, 15)):
        return Semantics.FIXED
    first = _FIRST_WITH_FIX.get(release.series)
    if first is None:
        return Semantics.BROKEN
    if release.stable is None:
        return None
    return Semantics.FIXED if release.stable >= first else Semantics.BROKEN


def parse_config_acs(value: str) -> list[Entry]:
    """Return the entries of an option's value, wrong ones included."""
    return [_entry(text) for text in _SEPARATOR.split(value) if text]


def parse_devices(value: str) -> list[str]:
    """Return the devices that the value of ``disable_acs_redir`` names."""
    return [text for text in _SEPARATOR.split(value) if text]


def readable_entries(entries: Sequence[Entry], semantics: Semantics) -> Sequence[Entry]:
    """Return the entries that a kernel gets to: a broken one stumbles over the second."""
    match semantics:
        case Semantics.NO_CONFIG_ACS:
            return ()
        case Semantics.BROKEN:
            return entries[:1]
        case Semantics.FIXED:
            return entries


def after_config_acs(entry: Entry, words: Words, semantics: Semantics) -> int:
    """Return ACS Control of a device that ``entry`` is the first to name.

    Raises:
        ValueError: The kernel does not take the entry.
    """
    if entry.mask is None:
        raise ValueError(f"{entry.text}: no flags")
    return _merged(entry.mask, entry.flags, words, semantics)


def after_disable_acs_redir(words: Words, semantics: Semantics) -> int:
    """Return ACS Control of a device that ``disable_acs_redir`` names.

    A broken kernel sets every other bit of the word, those that are reserved included.
    """
    mask = REDIRECTION.value
    return _merged(mask, ~mask & _WORD, words, semantics)


def _merged(mask: int, flags: int, words: Words, semantics: Semantics) -> int:
    match semantics:
        case Semantics.NO_CONFIG_ACS:
            return words.kernel & ~mask
        case Semantics.BROKEN:
            return words.kernel & ~mask | words.firmware & mask | flags
        case Semantics.FIXED:
            return words.firmware & ~mask | flags & mask


def _entry(text: str) -> Entry:
    flags, at, device = text.partition("@")
    bits = list(enumerate(reversed(flags.lower())))
    known = bool(bits) and all(bit in "01x" for _, bit in bits)
    mask = sum(1 << place for place, bit in bits if bit in "01")
    known = known and not mask & ~_ALL_CONTROLS
    return Entry(
        text=text,
        device=device if at and device else None,
        mask=mask if known else None,
        flags=sum(1 << place for place, bit in bits if bit == "1") if known else 0,
    )
