"""Keep apply off what is protected: nothing is written to it, and no route of it is changed."""

from collections.abc import Sequence

from pcietune.address import PciAddress
from pcietune.model.plan import PlannedStep, PlannedWrite
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change.draft import Draft


def keep_off(audited: Audit, drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts, those refused that would touch what is protected."""
    return [_kept_off(audited, draft) for draft in drafts]


def _kept_off(audited: Audit, draft: Draft) -> Draft:
    for address in _touched(audited, draft.planned):
        reason = audited.protection.why.get(address)
        if reason is not None:
            return Draft(draft.planned, refused=f"{address} is protected: {reason}")
    return draft


def _touched(audited: Audit, planned: PlannedStep) -> list[PciAddress]:
    """Return the function that a step writes to, and those whose routes it changes.

    An IOMMU group whose type is switched has no other member.
    """
    function = planned.function
    below = audited.fabric.below(function) if isinstance(planned, PlannedWrite) else []
    return [each.address for each in (function, *below)]
