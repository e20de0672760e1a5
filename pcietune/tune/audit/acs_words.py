"""What the kernel command line asks of ports' ACS, and what of it this kernel does not get to."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.config_acs import (
    REDIRECTION,
    Semantics,
    parse_config_acs,
    parse_devices,
    readable_entries,
)
from pcietune.tune.audit.named_device import is_device, means

CONFIG_ACS = "config_acs="
DISABLE_ACS_REDIR = "disable_acs_redir="

_BEHIND_A_COMMA = "a comma ends the list of devices, so the kernel does not get to it"
_NOT_THE_LAST = "another such option follows, and only the last one counts"
_BEHIND_A_WRONG_ONE = "the kernel stops at an entry before it, which is wrong"
_ONLY_THE_FIRST = "kernels 6.11 to 6.14 take only the first entry"


@dataclass(frozen=True, slots=True)
class AskedOfPort:
    """What the command line asks of a port's ACS.

    Attributes:
        text: As it is written.
        device: Which ports it means.
        mask: Controls that are to be as it says.
        flags: Those of them that are to be on.
        is_list: Whether it is from ``disable_acs_redir``, which only names ports.
        why_not: Why the kernel does not get to it; empty if it does.
    """

    text: str
    device: str
    mask: AcsControl
    flags: AcsControl
    is_list: bool
    why_not: str = ""


def asked_of(
    port: PciFunction, options: list[str], semantics: Semantics | None
) -> AskedOfPort | None:
    """Return what counts for a port, None if nothing names it.

    What the kernel gets to goes first, and ``config_acs``, which it applies last.

    Args:
        port: The port.
        options: What stands in the ``pci=`` words, in order.
        semantics: What this kernel makes of them; None if not known.
    """
    asked = [each for each in _every(options, semantics) if means(each.device, port)]
    return min(asked, key=lambda each: bool(each.why_not), default=None)


def _every(options: list[str], semantics: Semantics | None) -> Iterator[AskedOfPort]:
    for name in (CONFIG_ACS, DISABLE_ACS_REDIR):
        read = _entries if name == CONFIG_ACS else _devices
        words = [option.removeprefix(name) for option in options if option.startswith(name)]
        if words:
            yield from read(words[-1], semantics, "")
        for word in words[:-1]:
            yield from read(word, semantics, _NOT_THE_LAST)
        for cut_off in _behind_commas(options, name):
            yield from read(cut_off, semantics, _BEHIND_A_COMMA)


def _entries(word: str, semantics: Semantics | None, why_not: str) -> Iterator[AskedOfPort]:
    entries = parse_config_acs(word)
    reached = len(readable_entries(entries, semantics or Semantics.FIXED))
    for number, entry in enumerate(entries):
        if entry.device is None or entry.mask is None or not is_device(entry.device):
            why_not = why_not or _BEHIND_A_WRONG_ONE
            continue
        late = _ONLY_THE_FIRST if semantics is Semantics.BROKEN and number >= reached else ""
        yield AskedOfPort(
            entry.text,
            entry.device,
            AcsControl.decode(entry.mask),
            AcsControl.decode(entry.flags),
            is_list=False,
            why_not=why_not or late,
        )


def _devices(word: str, semantics: Semantics | None, why_not: str) -> Iterator[AskedOfPort]:
    # Kernels 6.11 to 6.14 turn all else on by it, of which TransBlk never was asked for.
    blocking = AcsControl.TRANSLATION_BLOCKING if semantics is Semantics.BROKEN else AcsControl(0)
    for device in parse_devices(word):
        if not is_device(device):
            why_not = why_not or _BEHIND_A_WRONG_ONE
            continue
        yield AskedOfPort(
            f"{DISABLE_ACS_REDIR}{device}",
            device,
            REDIRECTION | blocking,
            AcsControl(0),
            is_list=True,
            why_not=why_not,
        )


def _behind_commas(options: list[str], name: str) -> Iterator[str]:
    """Return the entries that a comma cuts off from an option, which then are options alone."""
    current = ""
    for option in options:
        if option.startswith((CONFIG_ACS, DISABLE_ACS_REDIR)):
            current = option
        elif current.startswith(name) and is_device(option.rpartition("@")[2]):
            yield option
        else:
            current = ""
