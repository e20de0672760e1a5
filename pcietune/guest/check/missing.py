"""Why a planned function is not in the VM."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.guest.check.location import PORT_IDS, ports_above
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction


def why_missing(plan: Plan, passed: Passed, functions: Mapping[PciAddress, PciFunction]) -> str:
    """Return what is known of why a function is not there, and where to look.

    Args:
        plan: The plan.
        passed: What is missing.
        functions: All of the VM's.
    """
    ports = ports_above(plan, passed)
    absent = [port for port in ports if not _is_there(port, functions)]
    if not ports:
        return _look(passed)
    if not absent:
        return f"its port {ports[-1].name} is there, and empty: {_look(passed)}"
    if len(absent) == len(ports):
        return (
            f"nor are the ports above it ({', '.join(port.name for port in ports)}): QEMU was not "
            "started with what pcietune guest qemu or libvirt printed for this plan"
        )
    return (
        f"nor is {absent[0].name}, which the plan has at {absent[0].address}: compare QEMU's "
        "-device arguments with the plan"
    )


def _is_there(port: Bridge, functions: Mapping[PciAddress, PciFunction]) -> bool:
    found = functions.get(PciAddress.parse(port.address))
    return found is not None and found.id == PORT_IDS[port.kind]


def _look(passed: Passed) -> str:
    return (
        f"{passed.address} of the host was not passed, or does not answer: see QEMU's log, and on "
        f"the host pcietune vfio show"
    )
