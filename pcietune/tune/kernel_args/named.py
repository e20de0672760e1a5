"""Which ports a command line must name, and which words of a site's stand in the way."""

from collections.abc import Iterator, Sequence

from pcietune.tune.audit.acs_words import CONFIG_ACS, DISABLE_ACS_REDIR
from pcietune.tune.audit.config_acs import Entry, parse_config_acs, parse_devices
from pcietune.tune.audit.named_device import means
from pcietune.tune.kernel_args.command_line import last_value, pci_options
from pcietune.tune.kernel_args.merge import IsOurs
from pcietune.tune.kernel_args.owed import OwedPort


def to_be_named(
    ports: Sequence[OwedPort], running: Sequence[str], words: Sequence[str], is_ours: IsOurs
) -> list[OwedPort]:
    """Return the ports that need an entry; the kernel by itself sets the others as wanted.

    What an entry names gets nothing else from the kernel, now or in later releases, so that fewer
    are better. A port that the command line of this boot names may be as it is by that alone, so it
    stays named. One that a wildcard of the site means is named before it: the first entry counts.

    Args:
        ports: What the ports owe.
        running: The command line of this boot.
        words: The one that entries are for.
        is_ours: What of it does not stay.
    """
    meant = [*_devices(running), *(d for d in _devices(words) if not is_ours(d))]
    return [
        each
        for each in ports
        if not each.is_left_to_the_kernel or any(means(device, each.port) for device in meant)
    ]


def has_foreign(words: Sequence[str], is_ours: IsOurs) -> bool:
    """Return whether the entries of ``config_acs`` that count mean other ports as well."""
    return any(entry.device is None or not is_ours(entry.device) for entry in _entries(words))


def _devices(words: Sequence[str]) -> Iterator[str]:
    """Yield what the options that count mean, as they write it."""
    yield from (entry.device for entry in _entries(words) if entry.device is not None)
    yield from parse_devices(last_value(pci_options(words), DISABLE_ACS_REDIR))


def _entries(words: Sequence[str]) -> list[Entry]:
    return parse_config_acs(last_value(pci_options(words), CONFIG_ACS))
