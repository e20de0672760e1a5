"""All that is fuzzed, by name."""

from fuzz import (
    acpi_tables,
    documents,
    nvidia,
    plans,
    registers,
    said_by_others,
    sources,
    topology_files,
    whole_hosts,
)

TARGETS = {
    "acpi-tables": acpi_tables.TARGET,
    "archives": sources.ARCHIVES,
    "dumps": sources.DUMPS,
    "firmware-answers": said_by_others.FIRMWARE_ANSWERS,
    "kernel-logs": said_by_others.KERNEL_LOGS,
    "module-files": nvidia.MODULE_FILES,
    "nvidia-answers": nvidia.ANSWERS,
    "plans": plans.TARGET,
    "profiles": documents.PROFILES,
    "registers": registers.TARGET,
    "settings": documents.SETTINGS,
    "topology-files": topology_files.TARGET,
    "undo-records": documents.UNDO_RECORDS,
    "vm-definitions": said_by_others.VM_DEFINITIONS,
    "whole-hosts": whole_hosts.TARGET,
}
