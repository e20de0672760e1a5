"""Whether the links that the VM is shown are those of the plan.

VFIO shows a function's own Link Capabilities and Link Status, and QEMU those of its ports as it
was told; of a function on a root bus it shows none (hw/vfio/pci.c, vfio_setup_pcie_cap).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.guest.check.location import PORT_IDS
from pcietune.guest.check.row import Aspect, Row, Verdict, compared, not_known
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.plan import Plan
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.registers.express import Express

_UNTOLD = (
    "a function that is flat on a root bus, or whose host does not tell it, shows no link: NVIDIA's"
    " driver then sizes copy engines by guess"
)
_SLOWER = (
    "the function itself says so, so it is not the host's function that was planned, or its "
    "firmware changed: compare lspci -vv on the host"
)
_PORT = "x-speed and x-width of QEMU's port (qemu:override in libvirt) are not as the plan has them"


def check_links(
    plan: Plan,
    matched: Mapping[str, PciFunction],
    functions: Mapping[PciAddress, PciFunction],
    host: HostAccess,
) -> Iterator[Row]:
    """Yield whether functions, and the ports that were given a link, can do what was planned.

    A VF may show no link, since the registers of its PF have it (SR-IOV, Link Status): of one that
    shows none nothing is compared.

    Args:
        plan: The plan.
        matched: The function that each of it is, by name.
        functions: All of the VM's.
        host: The VM.
    """
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is not None and passed.link_speed is not None and passed.link_width is not None:
            planned = (passed.link_speed, passed.link_width)
            row = _function(passed, planned, function, host)
            if row is not None:
                yield row
    for bridge in plan.bridges:
        if bridge.speed is None or bridge.width is None:
            continue
        port = functions.get(PciAddress.parse(bridge.address))
        if port is not None and port.id == PORT_IDS[bridge.kind]:
            yield _port(bridge, (_of_qemu(bridge.speed), bridge.width), port, host)


def narrow_links(plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess) -> Iterator[str]:
    """Yield a sentence on each function whose link runs narrower than planned.

    It may have done so when it was planned: the plan has the most that a link can. Speeds are no
    sign, since idle GPUs slow their links.
    """
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None or passed.link_width is None:
            continue
        try:
            width = host.link(function).width
        except PcietuneError:
            continue
        if width is not None and width < passed.link_width:
            yield (
                f"the link of {passed.name} runs {width} lanes wide, and could {passed.link_width}:"
                " see pcietune audit on the host"
            )


def _function(
    passed: Passed, planned: tuple[str, int], function: PciFunction, host: HostAccess
) -> Row | None:
    """Return how a function's link compares; None of a VF that shows none."""
    words = _words(*planned)
    try:
        found = _most(function, host)
    except PcietuneError as error:
        return not_known(passed.name, Aspect.LINK, words, str(error), error)
    if found is None:
        of_vf = passed.physical_function is not None
        return None if of_vf else not_known(passed.name, Aspect.LINK, words, _UNTOLD)
    enough = _gigatransfers(found[0]) >= _gigatransfers(planned[0]) and found[1] >= planned[1]
    verdict = Verdict.PASS if enough else Verdict.DIFFERS
    return Row(passed.name, Aspect.LINK, verdict, words, _words(*found), "" if enough else _SLOWER)


def _port(bridge: Bridge, planned: tuple[str, int], port: PciFunction, host: HostAccess) -> Row:
    words = _words(*planned)
    try:
        found = _most(port, host)
    except PcietuneError as error:
        return not_known(bridge.name, Aspect.LINK, words, str(error), error)
    if found is None:
        return not_known(
            bridge.name, Aspect.LINK, words, "neither sysfs nor Link Capabilities tell"
        )
    return compared(bridge.name, Aspect.LINK, words, _words(*found), _PORT)


def _most(function: PciFunction, host: HostAccess) -> tuple[str, int] | None:
    """Return speed and lanes that a function can: by sysfs, or of a dump by Link Capabilities.

    None if neither tells.

    Raises:
        ConfigSpaceError: The function vanished.
    """
    link = host.link(function)
    if link.max_speed is not None and link.max_width is not None:
        return link.max_speed, link.max_width
    with suppress(PcietuneError):
        express = Express.find(host.config(function))
        capable = None if express is None else express.link_capable
        if capable is not None and capable.speed is not None and capable.lanes:
            return f"{capable.speed:.1f} GT/s PCIe", capable.lanes
    return None


def _words(speed: str, width: int) -> str:
    return f"{speed} x{width}"


def _of_qemu(speed: str) -> str:
    """Return a speed as sysfs prints it, from QEMU's ``2_5``; what is none as it is."""
    number = speed.replace("_", ".")
    return f"{float(number):.1f} GT/s PCIe" if _is_number(number) else speed


def _gigatransfers(speed: str) -> float:
    """Return a speed as a number; infinite where its text is not known (as NCCL takes it)."""
    number = speed.partition(" ")[0]
    return float(number) if _is_number(number) else float("inf")


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
