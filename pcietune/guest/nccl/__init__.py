"""NCCL in the VM: its topology file, what it wants told by its environment, and a lint."""
