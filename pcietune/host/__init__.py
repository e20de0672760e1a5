"""The only place that touches a machine: sysfs, archives, profile files, the undo record."""
