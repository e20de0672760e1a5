"""All that is fuzzed, by name."""

from fuzz import acpi_tables, documents, registers, sources, whole_hosts

TARGETS = {
    "acpi-tables": acpi_tables.TARGET,
    "archives": sources.ARCHIVES,
    "dumps": sources.DUMPS,
    "profiles": documents.PROFILES,
    "registers": registers.TARGET,
    "settings": documents.SETTINGS,
    "undo-records": documents.UNDO_RECORDS,
    "whole-hosts": whole_hosts.TARGET,
}
