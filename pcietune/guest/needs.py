"""What a plan needs of QEMU and of its GPUs."""

import re
from collections.abc import Sequence

from pcietune.errors import BadInputError, quoted
from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Backend
from pcietune.guest.plan import Plan

_QEMU = re.compile(r"(\d{1,3})\.(\d{1,3})")
_OLDEST = (7, 2)
_IOMMUFD = (9, 0)  # -object iommufd, and vfio-pci's property
_CLIQUE_BY_CHAIN = (8, 1)  # commit f6b30c1984f7: at d4h where MSI-X is at c8h
_MOST_CPUS = {(7, 2): 288, (8, 1): 1024, (9, 0): 4096}
"""Of its q35 since each release (max_cpus in hw/i386/pc_q35.c)."""
_NVIDIA = "10de:"
_DISPLAY = "0x03"
_FIRST_TURING = (
    0x1E00  # NVIDIA's Device IDs go up with its architectures (pci.ids); Volta's end at 1dff
)


def check_needs(plan: Plan) -> None:
    """Do nothing if the QEMU that a plan is for can do what the plan says, with these GPUs.

    Raises:
        BadInputError: It cannot.
    """
    qemu = _version(plan.machine.qemu)
    if plan.machine.backend is Backend.IOMMUFD and qemu < _IOMMUFD:
        raise BadInputError(
            f"QEMU {plan.machine.qemu} knows no iommufd, which came with 9.0",
            hint="plan it without --iommufd, or with --qemu 9.0",
        )
    check_cpus(sum(len(each.vcpus) for each in plan.cells), qemu)
    clique = [each for each in plan.functions if each.clique is not None]
    if clique:
        _check_clique(clique, plan.machine.qemu, has_place=qemu >= _CLIQUE_BY_CHAIN)


def check_cpus(cpus: int, qemu: tuple[int, int]) -> None:
    """Do nothing if a VM of that QEMU can have so many CPUs.

    Raises:
        BadInputError: It cannot.
    """
    most = max(number for since, number in _MOST_CPUS.items() if since <= qemu)
    if cpus > most:
        later = (since for since, number in _MOST_CPUS.items() if number >= cpus)
        can = next(
            (f", or --qemu {since[0]}.{since[1]} and a host with that" for since in later), ""
        )
        raise BadInputError(
            f"{cpus} vCPUs: QEMU {qemu[0]}.{qemu[1]} gives a VM {most} at most",
            hint=f"--cpus {most}{can}",
        )


def _check_clique(clique: Sequence[Passed], qemu: str, *, has_place: bool) -> None:
    """Refuse what QEMU refuses, or what no driver can make use of (hw/vfio/pci-quirks.c)."""
    nvidia = [each for each in clique if each.id.startswith(_NVIDIA)]
    display = [each for each in nvidia if each.class_code.startswith(_DISPLAY)]
    if len(display) < 2 or len(display) != len(clique):
        raise BadInputError(
            f"a clique is of two NVIDIA GPUs or more, and this has {len(display)} of {len(clique)}",
            hint="plan it without --clique",
        )
    newer = next((each for each in display if _device_id(each) >= _FIRST_TURING), None)
    if newer is not None and not has_place:
        raise BadInputError(
            f"QEMU {qemu} has no place for a clique in {newer.name} ({newer.id}): where it puts it,"
            " Turing and later have MSI-X",
            hint="plan it without --clique, or with --qemu 8.1",
        )


def _device_id(function: Passed) -> int:
    return int(function.id.removeprefix(_NVIDIA), 16)


def _version(text: str) -> tuple[int, int]:
    found = _QEMU.match(text)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    if numbers < _OLDEST:
        raise BadInputError(
            f"{quoted(text)}: no QEMU from 7.2 on", hint="plan it with --qemu 7.2 or later"
        )
    return numbers
