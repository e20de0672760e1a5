"""What libvirt has no attribute for, by its namespace for QEMU (docs/drvqemu.rst of libvirt).

Values of devices are replaced by ``qemu:override``, since libvirt 8.2. X-PciMmio64Mb has to be an
argument: libvirt's own ``<sysinfo type='fwcfg'>`` refuses names below ``opt/ovmf/`` (measured with
9.0).
"""

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import Firmware
from pcietune.guest.libvirt.controllers import alias
from pcietune.guest.libvirt.element import Comment, Element, element
from pcietune.guest.plan import Plan

_CLIQUE = (
    "x-nv-gpudirect-clique is somebody's word that these GPUs reach each other: QEMU checks"
    " nothing, and where they do not, data is wrong in silence."
)
NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"


def overrides(plan: Plan) -> Element | None:
    """Return the properties of devices that libvirt does not know; None if there are none."""
    devices = [
        *(_device(each.name, _of_bridge(each)) for each in plan.bridges),
        *(_device(each.name, _of_function(each)) for each in plan.functions),
    ]
    given = [each for each in devices if each is not None]
    vouched = any(each.clique is not None for each in plan.functions)
    clique = Comment(_CLIQUE) if vouched else None
    return element("qemu:override").with_content(clique, *given) if given else None


def command_line(plan: Plan) -> Element | None:
    """Return the arguments that libvirt does not make; None if there are none."""
    if plan.machine.firmware is not Firmware.OVMF:
        return None
    window = f"name=opt/ovmf/X-PciMmio64Mb,string={plan.budget.memory_64_mib}"
    return element("qemu:commandline").with_content(
        element("qemu:arg", value="-fw_cfg"), element("qemu:arg", value=window)
    )


def _of_bridge(bridge: Bridge) -> list[Element]:
    width = None if bridge.width is None else str(bridge.width)
    return [
        _property(name, "string", value)
        for name, value in (("x-speed", bridge.speed), ("x-width", width))
        if value is not None
    ]


def _of_function(function: Passed) -> list[Element]:
    if function.clique is None:
        return []
    return [_property("x-nv-gpudirect-clique", "unsigned", str(function.clique))]


def _device(name: str, properties: list[Element]) -> Element | None:
    if not properties:
        return None
    return element("qemu:device", alias=alias(name)).with_content(
        element("qemu:frontend").with_content(*properties)
    )


def _property(name: str, kind: str, value: str) -> Element:
    return element("qemu:property", name=name, type=kind, value=value)
