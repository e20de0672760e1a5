"""A kernel command line as words, and its ``pci=`` words as options."""

import re
from collections.abc import Iterable, Sequence

from pcietune.errors import BadInputError, quoted
from pcietune.tune.audit.acs_words import CONFIG_ACS, DISABLE_ACS_REDIR
from pcietune.tune.audit.named_device import is_device

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+', re.ASCII)  # as next_arg() of lib/cmdline.c splits it
_PCI = "pci="
FOR_INIT = "--"
"""The word behind which all others are for init, and none for the kernel."""
LISTS = (CONFIG_ACS, DISABLE_ACS_REDIR)
"""The options that hold a list of devices, in the order in which pcietune writes them."""

LONGEST = 2047
"""Bytes that the kernel keeps of it (COMMAND_LINE_SIZE of x86 and arm64, less a NUL)."""


def split(text: str) -> tuple[str, ...]:
    """Return the words, quotes kept."""
    return tuple(_WORD.findall(text))


def pci_options(words: Iterable[str]) -> list[str]:
    """Return the options of all ``pci=`` words that the kernel gets, without quotes."""
    return [option for word in for_the_kernel(words) for option in options_of(word)]


def last_value(options: Iterable[str], name: str) -> str:
    """Return the value of the option that counts, of those with this name; empty without one."""
    values = [option.removeprefix(name) for option in options if option.startswith(name)]
    return values[-1] if values else ""


def for_the_kernel(words: Iterable[str]) -> list[str]:
    """Return the words before ``--``: what follows is for init."""
    found = []
    for word in words:
        if word == FOR_INIT:
            break
        found.append(word)
    return found


def options_of(word: str) -> list[str]:
    """Return the options of a ``pci=`` word; empty if it is another word."""
    bare = word.replace('"', "")
    return bare.removeprefix(_PCI).split(",") if bare.startswith(_PCI) else []


def pci_word(options: Sequence[str]) -> str:
    """Return the word with these options."""
    return _PCI + ",".join(options)


def is_list(option: str) -> bool:
    """Return whether an option holds a list of devices."""
    return option.startswith(LISTS)


def is_cut_off(option: str) -> bool:
    """Return whether an option is nothing but a device, which a comma cut off from its list."""
    return not is_list(option) and is_device(option.rpartition("@")[2])


def with_words(words: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Return the words with others behind them, as far as they are for the kernel.

    Raises:
        BadInputError: A quote does not end, and so would have them in it.
    """
    heard = for_the_kernel(words)
    count = len(heard)
    if added and heard and heard[-1].count('"') % 2:
        raise BadInputError(
            f"{quoted(heard[-1])}: this quote on the kernel command line does not end, so the "
            "kernel would take words behind it for a part of it",
            hint="close the quote where the boot loader has it from, and reboot",
        )
    return (*words[:count], *added, *words[count:])
