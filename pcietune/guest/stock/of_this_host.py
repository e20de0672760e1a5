"""Whether a plan is of a host."""

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.devices import Passed
from pcietune.guest.plan import Plan
from pcietune.model.fabric import Fabric


def check_of_this_host(plan: Plan, fabric: Fabric) -> None:
    """Do nothing if all functions of a plan are this host's, where the plan has them.

    Raises:
        BadInputError: One is not, or has moved.
    """
    for each in plan.functions:
        wrong = _difference(each, fabric)
        if wrong is not None:
            raise BadInputError(
                f"the plan of {plan.machine.name} is of another host, or of how this one was:"
                f" {wrong}",
                hint="make it again on this host: pcietune guest plan",
            )


def _difference(passed: Passed, fabric: Fabric) -> str | None:
    """Return where a function of a plan differs from the host's; None if it does not."""
    function = fabric.functions.get(PciAddress.parse(passed.address))
    if function is None:
        return f"there is no {passed.address} ({passed.id})"
    if function.id != passed.id:
        return f"{passed.address} is a {function.id}, not a {passed.id}"
    if function.location != passed.path:
        return f"{passed.address} is at {function.location}, not at {passed.path}"
    return None
