"""Predict what a kernel leaves in a port's ACS Control, by its command line.

By drivers/pci/pci.c, pci_enable_acs: ``disable_acs_redir`` first, then the first entry of
``config_acs`` that means the port.
"""

from collections.abc import Sequence

from pcietune.model.function import PciFunction
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.acs_words import CONFIG_ACS, DISABLE_ACS_REDIR
from pcietune.tune.audit.config_acs import (
    Entry,
    Semantics,
    Words,
    after_config_acs,
    after_disable_acs_redir,
    parse_config_acs,
    parse_devices,
    readable_entries,
)
from pcietune.tune.audit.named_device import is_device, means
from pcietune.tune.kernel_args.command_line import last_value, pci_options

_UNNAMED = ~(~AcsControl(0)).value


def predict(
    words: Sequence[str],
    port: PciFunction,
    supported: AcsControl,
    before: Words,
    semantics: Semantics,
) -> int:
    """Return ACS Control of a port after boot.

    Args:
        words: The kernel command line.
        port: The port.
        supported: Controls that it has: others are hard-wired to 0.
        before: What the register holds before the options count.
        semantics: What the kernel makes of them.
    """
    options = pci_options(words)
    control = before.kernel
    if _is_listed(last_value(options, DISABLE_ACS_REDIR), port):
        control = after_disable_acs_redir(before, semantics)
    entry = _first(last_value(options, CONFIG_ACS), port, semantics)
    if entry is not None:
        control = after_config_acs(entry, Words(before.firmware, control), semantics)
    return control & (supported.value | _UNNAMED)


def _is_listed(value: str, port: PciFunction) -> bool:
    for device in parse_devices(value):
        if not is_device(device):
            return False  # the kernel stops there
        if means(device, port):
            return True
    return False


def _first(value: str, port: PciFunction, semantics: Semantics) -> Entry | None:
    for entry in readable_entries(parse_config_acs(value), semantics):
        if entry.device is None or entry.mask is None or not is_device(entry.device):
            return None  # the kernel stops there
        if means(entry.device, port):
            return entry
    return None
