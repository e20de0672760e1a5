"""Finds in a topology file what NCCL stops at, or takes for something else than was meant."""
