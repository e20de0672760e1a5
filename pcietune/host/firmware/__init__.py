"""The firmware's ACPI tables about IOMMUs."""
