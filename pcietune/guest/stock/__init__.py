"""What a host has for VMs, and why some of it cannot be given."""
