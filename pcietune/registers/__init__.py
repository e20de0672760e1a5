"""What the PCI Express specification says: functions of bytes, no I/O."""
