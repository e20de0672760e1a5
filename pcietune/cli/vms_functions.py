"""Which of the host's functions a VM is given: typed, by a plan, or by libvirt's XML."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pcietune.address import PciAddress
from pcietune.cli.planned import read_plan
from pcietune.errors import BadInputError, quoted
from pcietune.guest.plan import Plan
from pcietune.host.domain_xml import given_functions
from pcietune.host.text_file import read_text
from pcietune.model.function import PciFunction


@dataclass(frozen=True, slots=True)
class Named:
    """How the command line names a VM's functions; just one of the three does.

    Attributes:
        typed: Addresses or locations.
        plan: The file of a plan; None for none.
        domain: The file of libvirt's XML; None for none.
    """

    typed: Sequence[str]
    plan: Path | None
    domain: Path | None


def vms_functions(named: Named, functions: Sequence[PciFunction]) -> list[PciFunction]:
    """Return the functions among those of a host; a VM of libvirt's may have none.

    Raises:
        BadInputError: The host has not one that is named, or a plan is of another host; or none is
            named, or in several ways.
        NotPermittedError: A file may not be read.
    """
    ways = [bool(named.typed), named.plan is not None, named.domain is not None]
    if sum(ways) != 1:
        raise BadInputError(
            "a VM's functions are named by addresses, --plan or --domain, and by one of them",
            hint="name them: 0000:41:00.0 0000:42:00.0, or --plan vm0.json, or --domain vm0.xml",
        )
    if named.plan is not None:
        return _planned(read_plan(named.plan), functions)
    if named.domain is not None:
        return _given_by_libvirt(named.domain, functions)
    return list(dict.fromkeys(_typed(name, functions) for name in named.typed))


def _typed(name: str, functions: Sequence[PciFunction]) -> PciFunction:
    found = next((each for each in functions if each.location == name), None)
    return found or _at(PciAddress.parse(name), functions)


def _planned(plan: Plan, functions: Sequence[PciFunction]) -> list[PciFunction]:
    by_location = {each.location: each for each in functions}
    found = []
    for passed in plan.functions:
        function = by_location.get(passed.path)
        if function is None or function.id != passed.id:
            there = "nothing" if function is None else function.id
            raise BadInputError(
                f"{passed.name} of the plan is {passed.id} at {passed.path}, and this host has"
                f" {there} there: the plan is of another host",
                hint="plan the VM on this host: pcietune guest plan",
            )
        found.append(function)
    return found


def _given_by_libvirt(file: Path, functions: Sequence[PciFunction]) -> list[PciFunction]:
    text = read_text(file, hint="give what virsh dumpxml prints")
    try:
        addresses = given_functions(text.encode())
    except ValueError as error:
        raise BadInputError(
            f"{file}: no XML of a VM: {quoted(str(error))}", hint="give what virsh dumpxml prints"
        ) from error
    return [_at(address, functions) for address in addresses]


def _at(address: PciAddress, functions: Sequence[PciFunction]) -> PciFunction:
    for each in functions:
        if each.address == address:
            return each
    raise BadInputError(
        f"there is no function {address} here",
        hint="give its address or location as pcietune topo --all prints them",
    )
