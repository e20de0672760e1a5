"""Whether a planned function is there, at its address, below its ports."""

from collections.abc import Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.guest.check.displaced import why_elsewhere
from pcietune.guest.check.location import PORT_IDS, ports_above
from pcietune.guest.check.missing import why_missing
from pcietune.guest.check.row import Aspect, Row, Verdict, compared
from pcietune.guest.devices import Passed
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

_OTHER_DEVICE = (
    "another device was passed in its place, or the plan is another VM's: compare host= of QEMU's "
    "-device, or <source> of libvirt's <hostdev>, with the plan"
)
_AT_NONE = "none: on a root bus itself"


def check_places(
    plan: Plan, matched: Mapping[str, PciFunction], functions: Mapping[PciAddress, PciFunction]
) -> Iterator[Row]:
    """Yield for each planned function whether it is there, what it is, and where.

    Args:
        plan: The plan.
        matched: The function that each of it is, by name.
        functions: All of the VM's.
    """
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None:
            yield Row(
                passed.name,
                Aspect.ADDRESS,
                Verdict.DIFFERS,
                passed.guest_address,
                None,
                why_missing(plan, passed, functions),
            )
        else:
            yield from _place(plan, passed, function, functions)


def _place(
    plan: Plan,
    passed: Passed,
    function: PciFunction,
    functions: Mapping[PciAddress, PciFunction],
) -> Iterator[Row]:
    why = why_elsewhere(plan, passed, function, functions)
    address = str(function.address)
    yield compared(passed.name, Aspect.ADDRESS, passed.guest_address, address, why)
    yield compared(passed.name, Aspect.ID, passed.id, function.id, _OTHER_DEVICE)
    class_code = f"0x{function.class_code:06x}"
    yield compared(passed.name, Aspect.CLASS, passed.class_code, class_code, _OTHER_DEVICE)
    planned = " ".join(PORT_IDS[port.kind] for port in ports_above(plan, passed))
    above = [functions[port].id for port in function.ports if port in functions]
    yield compared(passed.name, Aspect.PORTS, planned or _AT_NONE, " ".join(above) or _AT_NONE, why)
