"""A plan as QEMU's command line."""
