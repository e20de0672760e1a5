"""What VFIO has below a port, and why something there must wait or stay."""

from collections.abc import Iterable
from contextlib import suppress

from pcietune.errors import ConfigSpaceError, InUseError
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.registers.acs import AcsControl

ISOLATION = (
    AcsControl.SOURCE_VALIDATION
    | AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.UPSTREAM_FORWARDING
)
"""What the kernel's IOMMU groups stand on (drivers/iommu/iommu.c, REQ_ACS_FLAGS)."""


def given_to_vfio(host: HostAccess, functions: Iterable[PciFunction]) -> list[PciFunction]:
    """Return the functions that a VFIO driver is bound to."""
    return [f for f in functions if (state := _state(host, f)) is not None and state.vfio]


def why_in_use(host: HostAccess, below: Iterable[PciFunction]) -> str | None:
    """Return why no route may change above these functions now; None if VFIO uses none."""
    users: list[PciFunction] = []
    not_told: list[PciFunction] = []
    for function in below:
        state = _state(host, function)
        if state is not None and state.in_use_by_vfio:
            (not_told if state.vfio is None else users).append(function)
    if users:
        return f"in use by VFIO: {named(users)}"
    if not_told:
        return f"whether VFIO uses {named(not_told)} is not known: a dump does not tell"
    return None


def check_unused(host: HostAccess, functions: Iterable[PciFunction]) -> None:
    """Do nothing if VFIO uses none of the functions at this moment.

    Raises:
        InUseError: It does, since a moment ago.
    """
    users = []
    for function in functions:
        with suppress(ConfigSpaceError):  # it vanished: nobody uses it
            if host.state_again(function).in_use_by_vfio:
                users.append(function)
    if users:
        raise InUseError(
            f"{named(users)} came into use by VFIO meanwhile",
            hint="run pcietune again when no VM uses it",
        )


def check_not_given(host: HostAccess, function: PciFunction) -> None:
    """Do nothing if no VFIO driver is bound to the function at this moment.

    Raises:
        InUseError: One is, since a moment ago.
        ConfigSpaceError: The function vanished.
    """
    if host.state_again(function).vfio:
        raise InUseError(
            f"{function.address} was bound to VFIO meanwhile",
            hint="the kernel turns its ATS on when a VM takes it",
        )


def why_relied_on(
    host: HostAccess, below: Iterable[PciFunction], cleared: AcsControl
) -> str | None:
    """Return why these controls may not be cleared above these functions; None if they may."""
    if not cleared & ISOLATION:
        return None
    functions = list(below)
    given = given_to_vfio(host, functions)
    if not given:
        not_told = [f for f in functions if (s := _state(host, f)) is not None and s.vfio is None]
        if not_told:
            return (
                f"whether VFIO relies on the isolation of {named(not_told)} is not known: a dump "
                "does not tell"
            )
        return None
    return (
        f"VFIO relies on the isolation of {named(given)}; clear it by the kernel command line, "
        "which acts before groups form"
    )


def named(functions: Iterable[PciFunction]) -> str:
    """Return the functions' addresses for a sentence."""
    return ", ".join(str(function.address) for function in functions)


def _state(host: HostAccess, function: PciFunction) -> FunctionState | None:
    """Return a function's state; None if it vanished, so that nobody uses it."""
    try:
        return host.state(function)
    except ConfigSpaceError:
        return None
