"""Give a function without a driver to VFIO, as the policy says."""

import os

from pcietune.errors import ConfigSpaceError, InUseError, NotPermittedError
from pcietune.host.hook.place import Place
from pcietune.model.policy import FunctionDuty

_UNSET = "(null)"  # as the kernel prints it
_OVERRIDE = "driver_override"


def bind(root: str, place: Place, duty: FunctionDuty) -> str:
    """Set a function's override and have it probed, if it is to be; return what was done.

    A function is never taken from a driver, nor an override from who else set it.
    ``pcietune.host.hook.gate`` has what is to be checked before.

    Args:
        root: What stands for the host's ``/``.
        place: The function.
        duty: Its duty, which names an override.

    Raises:
        InUseError: It has another driver, or another override.
        ConfigSpaceError: It vanished, or does not have the driver in the end.
        NotPermittedError: The kernel refused.
    """
    wanted = duty.override or ""
    if place.given_to_vfio:
        return ""
    driver = place.driver()
    if driver is not None:
        raise InUseError(f"has the driver {driver}, from which it is not taken")
    found = place.text(_OVERRIDE)
    if found not in (_UNSET, "", wanted):
        raise InUseError(f"{_OVERRIDE} is {found}, not set by pcietune")
    if found != wanted:
        _write(f"{place.directory}/{_OVERRIDE}", wanted)
        if place.text(_OVERRIDE) != wanted:
            raise ConfigSpaceError(f"{_OVERRIDE} does not read {wanted}")
    if not duty.probe:
        return f"{_OVERRIDE} {wanted}"
    _write(f"{root}/sys/bus/pci/drivers_probe", str(place.address))
    driver = place.driver()
    if driver != wanted:
        raise ConfigSpaceError(f"was to get {wanted}, but its driver is {driver or 'none'}")
    return f"bound to {wanted}"


def _write(path: str, text: str) -> None:
    """Write a file of sysfs in one system call."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise ConfigSpaceError(f"{path} vanished") from error
    except OSError as error:
        raise NotPermittedError(f"{path}: {error.strerror}") from error
