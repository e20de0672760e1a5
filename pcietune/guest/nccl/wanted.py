"""What is wanted of a topology file beyond its plan."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted
from pcietune.guest.kinds import Kind
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.plan import Plan

_CPU = re.compile(r"(GenuineIntel|AuthenticAMD|CentaurHauls):([0-9]{1,3}):([0-9]{1,3})")
_ARCHITECTURES = ("x86_64", "arm64", "ppc64")
_AMD = "1002:"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a topology file.

    Attributes:
        library: Which library is to read it.
        invent: Whether switches are invented even where the VM has emulated ones.
        addresses: Where functions are in a VM that others laid out, by name.
        cpu: Attributes of each cpu element that say what it is; empty to have NCCL find out.
    """

    library: Library = Library.NCCL
    invent: bool = False
    addresses: Mapping[str, PciAddress] = field(default_factory=dict)
    cpu: tuple[tuple[str, str], ...] = ()


def library_of(plan: Plan) -> Library:
    """Return which library runs on a plan's GPUs: AMD's have RCCL."""
    of_amd = any(each.kind is Kind.GPU and each.id.startswith(_AMD) for each in plan.functions)
    return Library.RCCL if of_amd else Library.NCCL


def parse_cpu(text: str) -> tuple[tuple[str, str], ...]:
    """Return the attributes that a CPU's name stands for: ``GenuineIntel:6:143``, or ``arm64``.

    Raises:
        BadInputError: It is neither vendor, family and model in decimal, nor an architecture.
    """
    if text in _ARCHITECTURES:
        return (("arch", text),)
    found = _CPU.fullmatch(text)
    if found is None:
        raise BadInputError(
            f"{quoted(text)} is no CPU that NCCL tells apart",
            hint="write what /proc/cpuinfo has, as in GenuineIntel:6:143, or arm64",
        )
    vendor, family, model = found.groups()
    names = (("arch", "x86_64"), ("vendor", vendor))
    return (*names, ("familyid", str(int(family))), ("modelid", str(int(model))))


def parse_addresses(texts: list[str], plan: Plan) -> dict[str, PciAddress]:
    """Return the addresses that are given as ``gpu0=0000:05:00.0``, by name.

    Raises:
        BadInputError: One has another form, names what the plan has not, is given twice, or is
            that of two functions.
    """
    names = {each.name for each in plan.functions} | {each.name for each in plan.bridges}
    addresses: dict[str, PciAddress] = {}
    for text in texts:
        name, _, address = text.partition("=")
        if name not in names:
            raise BadInputError(
                f"{quoted(name)}: the plan has no such function or port",
                hint=f"it has {', '.join(each.name for each in plan.functions)}",
            )
        if name in addresses:
            raise BadInputError(f"{name}: two addresses are given", hint="give one")
        addresses[name] = PciAddress.parse(address)
    _check_alone(addresses, plan)
    return addresses


def address_of(name: str, planned: str, addresses: Mapping[str, PciAddress]) -> PciAddress:
    """Return where something is in the VM: as given, else as planned."""
    return addresses.get(name) or PciAddress.parse(planned)


def _check_alone(addresses: Mapping[str, PciAddress], plan: Plan) -> None:
    by_address: dict[PciAddress, str] = {}
    for each in plan.functions:
        address = address_of(each.name, each.guest_address, addresses)
        if (other := by_address.setdefault(address, each.name)) != each.name:
            raise BadInputError(
                f"{address}: of both {other} and {each.name}",
                hint=f"give the address of the other, too: --address {other}=ADDRESS",
            )
