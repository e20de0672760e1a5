"""Numbers as sets of CPUs and nodes are written for libvirt, QEMU and the kernel."""

from collections.abc import Iterable


def number_list(numbers: Iterable[int]) -> str:
    """Return numbers as ``0-7,12``, in order and each once."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
