"""What a host uses its own functions for: disks, network interfaces, slots."""
