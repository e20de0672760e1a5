"""docs/boot.md tells all that monitoring may build on."""

import re
from pathlib import Path

from report.outcomes import audited
from trees.machines import one_switch

from pcietune.errors import BadInputError
from pcietune.model.boot_guard import BootGuard
from pcietune.report.journal import AUDITED, ENDED_EARLY, FINDING, journal_entries
from pcietune.report.metrics import metrics
from pcietune.report.outcome import Outcome

DOCUMENT = (Path(__file__).parents[2] / "docs" / "boot.md").read_text()


def everything(root: Path) -> Outcome:
    outcome = audited(one_switch(root))
    outcome.guard = BootGuard(0)
    outcome.errors = [BadInputError("something")]
    return outcome


def test_every_metric_is_told_and_no_other(tmp_path: Path) -> None:
    text = metrics(
        everything(tmp_path), now_s=2.0, earlier="pcietune_last_success_timestamp_seconds 1.0\n"
    ).decode()

    written = set(re.findall(r"^# TYPE (\w+) gauge$", text, re.MULTILINE))
    assert written == set(re.findall(r"^\| `(pcietune_\w+)` \|", DOCUMENT, re.MULTILINE))


def test_every_field_of_the_journal_is_told(tmp_path: Path) -> None:
    fields = {name for entry in journal_entries(everything(tmp_path)) for name in entry}

    assert {name for name in fields if f"`{name}`" not in DOCUMENT} == {"MESSAGE"}
    assert all(each in DOCUMENT for each in (FINDING, ENDED_EARLY, AUDITED))
