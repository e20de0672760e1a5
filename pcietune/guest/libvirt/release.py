"""Which release of libvirt is to read a domain, and what it must be able to say."""

import re

from pcietune.errors import BadInputError, quoted
from pcietune.guest.kinds import Backend
from pcietune.guest.plan import Plan

DEFAULT = "9.0"  # Debian 12's
_OLDEST = (8, 7)  # <maxphysaddr>, docs/formatdomain.rst; <qemu:override> is of 8.2
_IOMMUFD = (12, 2)  # <driver iommufd='yes'/>
_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})(\.\d{1,3})?")


def check_release(plan: Plan, release: str) -> None:
    """Refuse a plan that a release of libvirt cannot be told.

    Args:
        plan: The plan.
        release: As ``9.0`` or ``9.0.0``, of the libvirt that is to read the domain.

    Raises:
        BadInputError: It is no release, too old, or has no word for what the plan needs.
    """
    found = _NUMBERS.fullmatch(release)
    if found is None:
        raise BadInputError(
            f"{quoted(release)}: no release of libvirt", hint=f"give it as --libvirt {DEFAULT}"
        )
    numbers = (int(found[1]), int(found[2]))
    if numbers < _OLDEST:
        raise BadInputError(
            f"libvirt {release} cannot give a VM all address bits of the host's CPU, which large"
            " BARs need",
            hint=f"libvirt {_said(_OLDEST)} can; or start the VM by pcietune guest qemu",
        )
    if plan.machine.backend is Backend.IOMMUFD and numbers < _IOMMUFD:
        raise BadInputError(
            f"libvirt {release} cannot have a VM's memory mapped by iommufd, as the plan says",
            hint=f"with libvirt {_said(_IOMMUFD)} or later say --libvirt {_said(_IOMMUFD)}; else"
            " plan it without --iommufd",
        )


def _said(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
