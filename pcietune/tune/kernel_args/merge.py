"""Merge pcietune's words into a command line that has others.

Of several ``config_acs=`` or ``disable_acs_redir=`` options the last one counts, so one of each
kind is left. What they say of ports that are not pcietune's stays, behind what pcietune says: the
first entry that means a port counts (drivers/pci/pci.c, __pci_config_acs).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcietune.tune.audit.acs_words import CONFIG_ACS, DISABLE_ACS_REDIR
from pcietune.tune.audit.config_acs import parse_config_acs, parse_devices
from pcietune.tune.kernel_args.command_line import (
    LISTS,
    for_the_kernel,
    is_cut_off,
    is_list,
    last_value,
    options_of,
    pci_options,
    pci_word,
    with_words,
)

IsOurs = Callable[[str], bool]
"""Whether a device, as the options write it, means nothing but ports that pcietune sets."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What pcietune wants on a command line.

    Attributes:
        config_acs: Entries, such as ``1011101@0000:20:01.0/00.0/04.0``.
        disable_acs_redir: Devices.
        others: Words that are no ``pci=`` words: ``iommu=pt``.
    """

    config_acs: tuple[str, ...] = ()
    disable_acs_redir: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words for a command line that has none of their kind."""
        return merge((), self, lambda _: False).words


@dataclass(frozen=True, slots=True)
class Merged:
    """A command line with pcietune's words.

    Attributes:
        words: All of it.
        removed: Words of it as it was that are not in it any more.
        added: Words that are new in it.
    """

    words: tuple[str, ...]
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The command line."""
        return " ".join(self.words)


def merge(words: Sequence[str], ours: Ours, is_ours: IsOurs) -> Merged:
    """Return a command line with pcietune's words in it; the same one if it has them.

    Raises:
        BadInputError: A quote in it does not end.
    """
    heard = for_the_kernel(words)
    others = tuple(word for word in ours.others if word not in heard)
    wanted = _wanted(words, ours, is_ours)
    kept, removed = [], []
    for word in heard:
        left = [option for option in options_of(word) if not _goes(option, is_ours)]
        if len(left) == len(options_of(word)):
            kept.append(word)
            continue
        removed.append(word)
        if left:
            kept.append(pci_word(left))
    there = [option for option in pci_options(words) if is_list(option)]
    if there == wanted and not _has_cut_off(words, is_ours):
        return Merged(with_words(words, others), (), others)
    added = (*(pci_word([option]) for option in wanted), *others)
    merged = with_words((*kept, *words[len(heard) :]), added)
    return Merged(merged, tuple(removed), tuple(word for word in merged if word not in words))


def _wanted(words: Sequence[str], ours: Ours, is_ours: IsOurs) -> list[str]:
    """Return the options that hold lists, as they are to be."""
    options = pci_options(words)
    entries = [
        entry.text
        for entry in parse_config_acs(last_value(options, CONFIG_ACS))
        if entry.device is None or not is_ours(entry.device)
    ]
    devices = [d for d in parse_devices(last_value(options, DISABLE_ACS_REDIR)) if not is_ours(d)]
    lists = ((*ours.config_acs, *entries), (*ours.disable_acs_redir, *devices))
    return [f"{name}{';'.join(each)}" for name, each in zip(LISTS, lists, strict=True) if each]


def _goes(option: str, is_ours: IsOurs) -> bool:
    return is_list(option) or _is_ours_cut_off(option, is_ours)


def _has_cut_off(words: Sequence[str], is_ours: IsOurs) -> bool:
    return any(_is_ours_cut_off(option, is_ours) for option in pci_options(words))


def _is_ours_cut_off(option: str, is_ours: IsOurs) -> bool:
    return is_cut_off(option) and is_ours(option.rpartition("@")[2])
