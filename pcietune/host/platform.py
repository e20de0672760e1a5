"""What the kernel says of the host apart from its PCI functions."""

import re
from pathlib import Path

from pcietune.host.firmware.tables import read_tables
from pcietune.host.host_files import HostFiles
from pcietune.host.iommu import read_groups, read_units
from pcietune.host.numa_nodes import count_nodes_with_cpus
from pcietune.model.platform import Lockdown, Platform

DMI_FIELDS = (
    "sys_vendor",
    "product_name",
    "product_version",
    "product_family",
    "product_sku",
    "board_vendor",
    "board_name",
    "board_version",
    "bios_vendor",
    "bios_version",
    "bios_date",
)
"""The names below sys/class/dmi/id that are read: none that tells one host of a model apart."""

DMI = "sys/class/dmi/id"
CMDLINE = "proc/cmdline"
OSRELEASE = "proc/sys/kernel/osrelease"
BOOT_ID = "proc/sys/kernel/random/boot_id"
LOCKDOWN = "sys/kernel/security/lockdown"
KALLSYMS = "proc/kallsyms"

CONFIG_ACS_SYMBOLS = (b" __pci_config_acs", b" config_acs_param")
"""What a kernel with ``pci=config_acs=`` has in its symbol table (drivers/pci/pci.c, 6.11)."""

_CHOSEN = re.compile(r"\[(\w+)\]")
_CHUNK = 0x40000  # bytes
_LONGEST_SYMBOL = max(map(len, CONFIG_ACS_SYMBOLS))


def read_platform(files: HostFiles) -> Platform:
    """Return what the host is apart from its functions; what cannot be read is None or absent."""
    tables = read_tables(files)
    dmi = {name: files.text(f"{DMI}/{name}") for name in DMI_FIELDS}
    return Platform(
        dmi={name: text for name, text in dmi.items() if text},
        kernel=files.text(OSRELEASE),
        boot_id=files.text(BOOT_ID) or None,
        cmdline=files.text(CMDLINE),
        lockdown=_lockdown(files.text(LOCKDOWN)),
        iommu_units=read_units(files),
        groups=read_groups(files),
        dmar=tables.dmar,
        root_complex_ats=tables.root_complex_ats,
        damaged_tables=tables.damaged,
        numa_nodes=count_nodes_with_cpus(files),
    )


def read_config_acs(files: HostFiles) -> bool | None:
    """Return whether the kernel has the code of ``pci=config_acs=``; None if not known.

    Its symbols are looked through, since release numbers do not tell of backports.
    """
    tail = b""
    try:
        with Path(files.path(KALLSYMS)).open("rb", buffering=0) as symbols:
            while chunk := symbols.read(_CHUNK):
                text = tail + chunk
                if any(symbol in text for symbol in CONFIG_ACS_SYMBOLS):
                    return True
                tail = text[-_LONGEST_SYMBOL:]
    except OSError:
        return None
    return False if tail else None


def _lockdown(text: str | None) -> Lockdown:
    """Decode ``none [integrity] confidentiality``; the mode in brackets holds."""
    chosen = _CHOSEN.search(text or "")
    try:
        return Lockdown(chosen[1]) if chosen else Lockdown.UNKNOWN
    except ValueError:
        return Lockdown.UNKNOWN
