"""A plan as libvirt's domain, whole or only what of it the plan says."""

from pcietune.errors import BadInputError, quoted
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.libvirt import numa
from pcietune.guest.libvirt.controllers import controllers
from pcietune.guest.libvirt.cpu import cpu
from pcietune.guest.libvirt.element import Comment, Element, element, xml_lines
from pcietune.guest.libvirt.hostdevs import hostdevs
from pcietune.guest.libvirt.overrides import NAMESPACE, command_line, overrides
from pcietune.guest.needs import check_needs
from pcietune.guest.plan import Plan

_KIB_PER_MIB = 1024
_LAST_INDEX = 255  # a PCI address of libvirt has 8 bits for it


def domain_xml(plan: Plan) -> list[str]:
    """Return the lines of a whole domain, which boots as soon as it is given a disk.

    Raises:
        BadInputError: libvirt takes no VM of that name, or QEMU cannot do what the plan says.
    """
    check_needs(plan)
    name = element("name").with_text(_checked(plan.machine.name))
    content = (
        _made_of(plan),
        name,
        *_before_os(plan),
        _os(plan),
        element("features").with_content(element("acpi"), element("apic")),
        cpu(plan.cells),
        element("clock", offset="utc"),
        _devices(plan, whole=True, first_index=1),
        command_line(plan),
        overrides(plan),
    )
    return list(xml_lines(_domain().with_content(*content)))


def fragment_xml(plan: Plan, first_index: int) -> list[str]:
    """Return the lines of what is to be merged into a site's own domain.

    Args:
        plan: The plan.
        first_index: The first index that no PCI controller of the domain has.

    Raises:
        BadInputError: Not so many controllers can have an index, or QEMU cannot do what the plan
            says.
    """
    check_needs(plan)
    last = first_index + len(plan.bridges) - 1
    if last > _LAST_INDEX:
        raise BadInputError(
            f"{len(plan.bridges)} controllers from index {first_index} on end at {last}, and"
            f" libvirt's last is {_LAST_INDEX}",
            hint=f"--first-index {_LAST_INDEX + 1 - len(plan.bridges)} is the last that fits",
        )
    content = (
        _made_of(plan),
        *_before_os(plan),
        Comment("Your domain's features need <acpi/>, by which the VM is told of its NUMA nodes."),
        cpu(plan.cells),
        _devices(plan, whole=False, first_index=first_index),
        command_line(plan),
        overrides(plan),
    )
    return list(xml_lines(_domain().with_content(*content)))


def _domain() -> Element:
    return Element("domain", (("type", "kvm"), ("xmlns:qemu", NAMESPACE)))


def _before_os(plan: Plan) -> tuple[Element | None, ...]:
    return (
        numa.memory(plan.cells),
        numa.memory_backing(plan.cells),
        numa.vcpus(plan.cells),
        numa.cpu_tuning(plan.cells),
        numa.memory_tuning(plan.cells),
    )


def _os(plan: Plan) -> Element:
    machine = element("type", arch="x86_64", machine="q35").with_text("hvm")
    if plan.machine.firmware is Firmware.SEABIOS:
        return element("os").with_content(machine)
    features = [
        element("feature", enabled="no", name=name) for name in ("enrolled-keys", "secure-boot")
    ]
    return element("os", firmware="efi").with_content(
        machine, element("firmware").with_content(*features)
    )


def _devices(plan: Plan, *, whole: bool, first_index: int) -> Element:
    root = element("controller", type="pci", index=0, model="pcie-root").with_content(
        element("pcihole64", unit="KiB").with_text(plan.budget.memory_64_mib * _KIB_PER_MIB)
    )
    own: tuple[Element | Comment, ...] = (
        root,
        Comment("Another device's bus is the index of a controller here, and no bus number."),
        *controllers(plan, first_index),
        Comment("Bound by pcietune vfio bind, which verifies first; libvirt is to bind nothing."),
        *hostdevs(plan, first_index),
    )
    if not whole:
        return element("devices").with_content(*own)
    return element("devices").with_content(
        *own,
        Comment(_of_further_devices(plan)),
        element("controller", type="usb", model="none"),
        element("serial", type="pty"),
        element("memballoon", model="none"),
    )


def _of_further_devices(plan: Plan) -> str:
    """Return how many disks and networks can be added without moving a bus number of the plan.

    libvirt puts a port for each on pcie.0, which firmware numbers from 1 on (measured with 9.0).
    """
    below = [each for each in plan.bridges if each.parent == "pcie.0"]
    if any(each.kind is not BridgeKind.EXPANDER for each in below):
        return "Each disk or network that is added here moves the planned bus numbers."
    room = min((each.bus for each in below), default=256) - 1
    return f"Add up to {room} disks and networks without an address; each gets a port on pcie.0."


def _made_of(plan: Plan) -> Comment:
    machine = " ".join(word for word in (plan.host.vendor, plan.host.product) if word)
    of_host = f" on {machine}" if machine else ""
    return Comment(f"Planned by pcietune {plan.pcietune} for {plan.machine.name}{of_host}")


def _checked(name: str) -> str:
    """Return a VM's name if libvirt takes it: its names of files hold it."""
    if not name.strip() or "/" in name or not name.isprintable():
        raise BadInputError(
            f"{quoted(name)}: no name that libvirt gives a VM",
            hint="plan it with --name, and letters and digits",
        )
    return name
