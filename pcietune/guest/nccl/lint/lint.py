"""Checks a topology file, whoever wrote it."""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from pcietune.address import PciAddress
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.lint.against_plan import against_plan
from pcietune.guest.nccl.lint.attributes import in_attributes
from pcietune.guest.nccl.lint.complaint import Complaint, Found, Severity, placed
from pcietune.guest.nccl.lint.cpus import in_cpus
from pcietune.guest.nccl.lint.functions import in_functions
from pcietune.guest.nccl.lint.left_over import left_over
from pcietune.guest.nccl.lint.links import in_links
from pcietune.guest.nccl.lint.tree import read_tree
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan

SCHEMA = 1

_MOST_OF_A_RULE = 5  # that text tells


class Checked(msgspec.Struct, kw_only=True, frozen=True):
    """What a check came to, as a document.

    Attributes:
        schema: Of this document.
        file: What was checked.
        library: Which library was to read it.
        complaints: What was found, in the order of the text.
    """

    schema: int
    file: str
    library: Library
    complaints: list[Complaint]

    @property
    def failed(self) -> bool:
        """Whether something was found that is wrong, not only worth a look."""
        return any(each.severity is Severity.ERROR for each in self.complaints)


def lint(
    text: str,
    library: Library,
    plan: Plan | None = None,
    addresses: Mapping[str, PciAddress] | None = None,
) -> list[Complaint]:
    """Return what is wrong with a topology file, in the order of its text.

    Args:
        text: Of the file.
        library: Which library is to read it.
        plan: Of the VM that it is for; None to take the file by itself.
        addresses: Where functions of the plan are in a VM that others laid out, by name.
    """
    found: list[Found] = []
    if "\0" in text:
        found.append(
            Found(
                text.index("\0"),
                Severity.ERROR,
                "nul",
                "a NUL character: NCCL takes it for the end of a name or value",
                "remove it",
            )
        )
    system = read_tree(text, library, found)
    if system is not None:
        for rule in (in_cpus, in_functions, in_links, in_attributes, left_over):
            found.extend(rule(system))
        if plan is not None:
            found.extend(against_plan(system, plan, Wanted(library, addresses=addresses or {})))
    return placed(found, text)


def complaint_lines(checked: Checked) -> Iterator[str]:
    """Yield what a check came to as text: ``FILE:LINE:COLUMN: error [rule]: what``, and a sum.

    Of one rule the first few are told, and how many more there are: a file that is indented by
    tabs has one in each line.
    """
    told: Counter[str] = Counter()
    for each in checked.complaints:
        told[each.rule] += 1
        if told[each.rule] > _MOST_OF_A_RULE:
            continue
        place = f"{checked.file}:{each.line}:{each.column}"
        yield f"{place}: {each.severity} [{each.rule}]: {each.message}"
        yield f"  {each.advice}"
    for rule, count in told.items():
        if count > _MOST_OF_A_RULE:
            yield f"{checked.file}: {count - _MOST_OF_A_RULE} more of [{rule}]"
    counts = Counter(each.severity for each in checked.complaints)
    said = [
        f"{counts[severity]} {severity}{'' if counts[severity] == 1 else 's'}"
        for severity in Severity
        if counts[severity]
    ]
    yield f"{checked.file}: {', '.join(said) or 'nothing found'}"
