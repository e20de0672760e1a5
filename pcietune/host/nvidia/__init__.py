"""What NVIDIA's driver tells of its GPUs by nvidia-smi, and what is kept of it."""
