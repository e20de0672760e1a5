"""Which of a host's GPUs and NICs a VM is given, and why these."""
