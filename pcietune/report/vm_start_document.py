"""What stands against a VM's start, as a JSON document."""

import msgspec

from pcietune.model.vm_start import BeforeStart
from pcietune.report.document import FindingDocument
from pcietune.report.fill_document import finding_document
from pcietune.report.json_text import encode


class FunctionDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One function of the VM."""

    path: str
    address: str
    id: str


class BeforeStartDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A VM's functions, judged; exit is 0 where the site only wants to be told."""

    schema: int
    vm: str | None
    functions: list[FunctionDocument]
    policy: str
    refuses: bool
    against: list[FindingDocument]
    disabled: str | None
    errors: list[str]
    exit: int


def vm_start_document(found: BeforeStart, vm: str | None) -> str:
    """Return it as JSON.

    Args:
        found: A VM's functions, judged.
        vm: The VM's name; None if nobody told.
    """
    functions = [
        FunctionDocument(path=each.location, address=str(each.address), id=each.id)
        for each in found.functions
    ]
    return encode(
        BeforeStartDocument(
            schema=1,
            vm=vm,
            functions=functions,
            policy=found.policy,
            refuses=found.refuses,
            against=[finding_document(finding) for finding in found.against],
            disabled=found.disabled,
            errors=list(map(str, found.errors)),
            exit=int(found.exit_code) if found.refuses else 0,
        )
    )
