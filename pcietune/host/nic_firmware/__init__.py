"""The firmware of NVIDIA's NICs, by the programs mstconfig and mlxconfig."""
