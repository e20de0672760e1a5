"""Makes a host archive: all that pcietune reads of a host, and nothing personal."""

from pathlib import Path

from pcietune import __version__
from pcietune.errors import PcietuneError
from pcietune.host.firmware.acpi_table import TABLES
from pcietune.host.firmware.dmar import DMAR
from pcietune.host.firmware.iort import IORT
from pcietune.host.function_state import number_of_virtual_functions
from pcietune.host.functions import DEVICES
from pcietune.host.iommu import GROUPS, UNITS
from pcietune.host.numa_nodes import NODES_WITH_CPUS
from pcietune.host.nvidia.kept import NVIDIA_GPUS
from pcietune.host.owners.read_owners import owners_of
from pcietune.host.platform import (
    BOOT_ID,
    CMDLINE,
    DMI,
    DMI_FIELDS,
    KALLSYMS,
    LOCKDOWN,
    OSRELEASE,
)
from pcietune.host.recordings.archive import pack
from pcietune.host.recordings.kernel_command_line import without_private_values
from pcietune.host.recordings.manifest import MANIFEST, Manifest, UnreadConfig
from pcietune.host.recordings.recorded_config import UNPRIVILEGED_SIZES
from pcietune.host.recordings.recorded_nodes import record_nodes
from pcietune.host.recordings.recorded_owners import RecordedOwners
from pcietune.host.recordings.recorded_tree import RecordedTree
from pcietune.host.recordings.recorded_use import RecordedUse
from pcietune.host.recordings.serial_numbers import zero_serial_numbers
from pcietune.host.run.ats_proofs import PROOFS
from pcietune.host.run.run_files import STATE
from pcietune.host.sysfs import SysfsHost
from pcietune.host.temporary import temporary_directory
from pcietune.model.function import PciFunction
from pcietune.registers.config_space import EXTENDED_SIZE

_ATTRIBUTES = (
    "uevent",
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "class",
    "revision",
    "irq",  # lspci needs this and the next to read the recording
    "resource",
    "numa_node",
    "enable",
    "power_state",
    "power/control",
    "power/runtime_status",
    "aer_dev_fatal",  # counts that the kernel keeps: no register is read
    "aer_dev_nonfatal",
    "sriov_totalvfs",
    "sriov_numvfs",
    "driver_override",
)
# The kernel reads a register for each of these, and since commit 48991e493507 ("PCI/sysfs: Ensure
# devices are powered for config reads") powers the function up for it.
_ATTRIBUTES_THAT_READ_REGISTERS = (
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "secondary_bus_number",
    "subordinate_bus_number",
)
_LINKS = ("iommu", "iommu_group", "physfn")
_UNIT_REGISTERS = ("intel-iommu/cap", "intel-iommu/ecap", "amd-iommu/cap", "amd-iommu/features")
_CONFIG_ACS_SYMBOL = b"0000000000000000 t __pci_config_acs\n"  # without its address
_ANOTHER_SYMBOL = b"0000000000000000 T pci_enable_acs\n"
_OWN_FILES = ("etc/pcietune", "run/pcietune")


def record(host: SysfsHost, destination: Path) -> int:
    """Write a host archive of ``host``, which is compressed if its name ends in ``.gz``.

    Returns how many functions it has only the first 64 bytes of, all that others than root may
    read: they cannot be judged.

    Functions in D3cold are not woken, serial numbers and VPD are zeroed, and of the kernel command
    line only those values are kept that concern PCI.

    Raises:
        BadInputError: No archive can be of that name there.
        NotPermittedError: The archive may not be written, or there is no room.
    """
    with temporary_directory() as directory:
        tree = RecordedTree(host.files, directory)
        _record_platform(tree, config_acs=host.knows_config_acs())
        unread = {}
        for function in host.functions():
            _record_function(tree, host.directory(function))
            lacking = _record_config(tree, host, function)
            if lacking is not None:
                unread[str(function.address)] = lacking
        use, owners = host.use(), owners_of(host.files)
        manifest = Manifest(
            pcietune=__version__,
            unread=unread,
            errors=tree.errors,
            use=None if use is None else RecordedUse.of(use),
            complete=host.files.complete,
            owners=None if owners is None else RecordedOwners.of(owners),
        )
        tree.put(MANIFEST, manifest.encode())
        pack(directory, destination)
    return sum(lacking.reason is None for lacking in unread.values())


def _record_platform(tree: RecordedTree, *, config_acs: bool | None) -> None:
    for path in (
        OSRELEASE,
        BOOT_ID,
        LOCKDOWN,
        NODES_WITH_CPUS,
        f"{TABLES}/{DMAR}",
        f"{TABLES}/{IORT}",
    ):
        tree.copy(path)
    record_nodes(tree)
    cmdline = tree.source.text(CMDLINE)
    if cmdline is not None:
        tree.put(CMDLINE, f"{without_private_values(cmdline)}\n".encode())
    if config_acs is not None:
        tree.put(KALLSYMS, _CONFIG_ACS_SYMBOL if config_acs else _ANOTHER_SYMBOL)
    dmi = tree.copy_link(DMI) or DMI
    for name in DMI_FIELDS:
        tree.copy(f"{dmi}/{name}")
    _record_iommu(tree)
    for directory in _OWN_FILES:
        tree.copy_all(directory)
    for name in (PROOFS, NVIDIA_GPUS):  # beside them may be a whole kernel command line
        tree.copy(f"{STATE}/{name}")


def _record_iommu(tree: RecordedTree) -> None:
    for name in tree.source.names(UNITS):
        unit = tree.copy_link(f"{UNITS}/{name}") or f"{UNITS}/{name}"
        for register in _UNIT_REGISTERS:
            tree.copy(f"{unit}/{register}")
    for number in tree.source.names(GROUPS):
        tree.copy(f"{GROUPS}/{number}/type")
        tree.copy(f"{GROUPS}/{number}/name")
        for member in tree.source.names(f"{GROUPS}/{number}/devices"):
            tree.copy_link(f"{GROUPS}/{number}/devices/{member}")


def _record_function(tree: RecordedTree, path: str) -> None:
    asleep = tree.source.text(f"{path}/power_state") == "D3cold"
    for name in _ATTRIBUTES if asleep else _ATTRIBUTES + _ATTRIBUTES_THAT_READ_REGISTERS:
        tree.copy(f"{path}/{name}")
    driver = tree.copy_link(f"{path}/driver")
    if driver is not None:
        tree.make_directory(driver)
    for name in _LINKS:
        tree.copy_link(f"{path}/{name}")
    for index in range(number_of_virtual_functions(tree.source, path)):
        tree.copy_link(f"{path}/virtfn{index}")
    for name in tree.source.names(f"{path}/vfio-dev"):
        tree.make_directory(f"{path}/vfio-dev/{name}")
    tree.copy_link(f"{DEVICES}/{path.rpartition('/')[2]}")


def _record_config(
    tree: RecordedTree, host: SysfsHost, function: PciFunction
) -> UnreadConfig | None:
    """Copy what may be read of Configuration Space; return what is lacking, None if nothing."""
    path = f"{host.directory(function)}/config"
    try:
        size = host.config(function).size
        data = tree.source.read(path)
    except PcietuneError as error:
        return UnreadConfig(((0, EXTENDED_SIZE),), str(error))
    except OSError as error:
        return UnreadConfig(((0, EXTENDED_SIZE),), error.strerror)
    tree.put(path, zero_serial_numbers(function.address, data))
    if len(data) == size:
        return None
    reason = None if len(data) in UNPRIVILEGED_SIZES else f"the kernel gave {len(data)} bytes"
    return UnreadConfig(((len(data), size),), reason)
