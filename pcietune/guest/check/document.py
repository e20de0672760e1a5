"""What came of a check, as a JSON document."""

import msgspec

from pcietune import __version__
from pcietune.guest.check.checked import Checked
from pcietune.guest.check.row import Verdict
from pcietune.guest.check.told import sentence

SCHEMA = 1


class RowDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One thing that was compared."""

    subject: str
    aspect: str
    verdict: str
    planned: str | None
    found: str | None
    why: str


class CheckDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A check; docs/json.md explains each key."""

    schema: int
    pcietune: str
    vm: str
    first_difference: str | None
    differs: int
    not_known: int
    rows: list[RowDocument]
    unseen: list[str]
    notes: list[str]
    exit: int


def check_document(checked: Checked) -> CheckDocument:
    """Return the document of a check."""
    differing = checked.of(Verdict.DIFFERS)
    first = f"{sentence(differing[0])}: {differing[0].why}" if differing else None
    return CheckDocument(
        schema=SCHEMA,
        pcietune=__version__,
        vm=checked.name,
        first_difference=first,
        differs=len(differing),
        not_known=len(checked.of(Verdict.NOT_KNOWN)),
        rows=[
            RowDocument(
                subject=row.subject,
                aspect=row.aspect,
                verdict=row.verdict,
                planned=row.planned,
                found=row.found,
                why=row.why,
            )
            for row in checked.rows
        ],
        unseen=list(checked.unseen),
        notes=list(checked.notes),
        exit=checked.exit_code,
    )
