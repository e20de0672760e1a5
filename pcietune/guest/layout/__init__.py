"""Where a VM's functions are: its root buses and ports, and the addresses that follow."""
