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
_CLIQUE_ELSEWHERE = (8, 1)  # commit f6b30c1984f7: at d4h where MSI-X is at c8h
_NVIDIA = "10de:"
_DISPLAY = "0x03"
_TURING = 0x1E00  # NVIDIA's Device IDs go up with its architectures (pci.ids); Volta's end at 1dff


def check_needs(plan: Plan) -> None:
    """Do nothing if the QEMU that a plan is for can do what the plan says, with these GPUs.

    Raises:
        BadInputError: It cannot.
    """
    qemu = _version(plan.machine.qemu)
    if plan.machine.backend is Backend.IOMMUFD and qemu < _IOMMUFD:
        raise BadInputError(
            f"{plan.machine.name}: iommufd needs QEMU 9.0, and the plan is for {plan.machine.qemu}",
            hint="plan it with --qemu 9.0, or without --iommufd",
        )
    clique = [each for each in plan.functions if each.clique is not None]
    if clique:
        _check_clique(plan, clique, qemu)


def _check_clique(plan: Plan, clique: Sequence[Passed], qemu: tuple[int, int]) -> None:
    """Refuse what QEMU refuses, or what no driver can make use of (hw/vfio/pci-quirks.c)."""
    name, hint = plan.machine.name, "plan it without --clique"
    for each in clique:
        if not each.id.startswith(_NVIDIA) or not each.class_code.startswith(_DISPLAY):
            raise BadInputError(
                f"{name}: {each.name} ({each.id}, class {each.class_code}) is no GPU of NVIDIA,"
                " and QEMU puts nothing else in a clique",
                hint=hint,
            )
    if len(clique) < 2:
        raise BadInputError(
            f"{name}: {clique[0].name} alone is in a clique, which is of two GPUs or more",
            hint=hint,
        )
    newer = [each for each in clique if int(each.id.removeprefix(_NVIDIA), 16) >= _TURING]
    if newer and qemu < _CLIQUE_ELSEWHERE:
        raise BadInputError(
            f"{name}: a clique of {newer[0].name} ({newer[0].id}) needs QEMU 8.1, and the plan is"
            f" for {plan.machine.qemu}: Turing and later have MSI-X where older QEMU puts the"
            " capability",
            hint="plan it with --qemu 8.1, or without --clique",
        )


def _version(text: str) -> tuple[int, int]:
    found = _QEMU.match(text)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    if numbers < _OLDEST:
        raise BadInputError(
            f"{quoted(text)}: no QEMU from 7.2 on", hint="plan it with --qemu 7.2 or later"
        )
    return numbers
