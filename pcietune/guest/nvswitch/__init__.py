"""NVSwitches: which GPUs a partition holds, and what activates it around a VM's life."""
