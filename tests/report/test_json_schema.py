import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from report.outcomes import applied, audited, planned, restored
from report.valid_json import SHIPPED, broken
from trees.machines import one_switch
from tune.faults import at_write, set_word, stuck
from tune.judged import NIC_PORT

from pcietune.errors import ExitCode
from pcietune.model.finding import State
from pcietune.model.profile import ModeName
from pcietune.model.settings import Waiver
from pcietune.report.fill_document import document
from pcietune.report.json_schema import json_schema
from pcietune.report.json_text import encode
from pcietune.report.outcome import Outcome


def encoded(outcome: Outcome) -> str:
    return encode(document(outcome, outcome.exit_code()))


def test_the_shipped_schema_is_what_the_document_is_made_of() -> None:
    assert SHIPPED.read_text() == json_schema()  # make documents writes it anew


def test_a_document_is_valid_at_every_stage(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    after, record = applied(tree)

    for outcome in (Outcome(), audited(tree), planned(tree), after, restored(tree, record)):
        assert broken(encoded(outcome)) == []


def test_a_document_of_a_change_that_was_rolled_back_is_valid(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), stuck(NIC_PORT, 0x0040))

    text = encoded(outcome)

    assert json.loads(text)["exit"] == ExitCode.ROLLED_BACK
    assert broken(text) == []


def test_a_document_of_a_change_that_could_not_be_rolled_back_is_valid(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    fault = at_write(nth=1, after=lambda: set_word(tree, NIC_PORT, 0x00DD))
    outcome, _ = applied(tree, fault)

    text = encoded(outcome)

    assert json.loads(text)["exit"] == ExitCode.INCONSISTENT
    assert broken(text) == []


def test_waivers_and_modes_of_switch_groups_are_valid(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    assert outcome.audit
    waiver = Waiver("nic.ats", None, "known", None, date(2027, 1, 31))
    first, *others = outcome.audit.findings
    waived = replace(first, state=State.SKIP, waiver=waiver)
    outcome.audit = replace(outcome.audit, findings=(waived, *others))
    outcome.group_modes = {"0000:20:01.0/00.0": ModeName.BAREMETAL}

    text = encoded(outcome)

    assert broken(text) == []
    assert json.loads(text)["group_modes"] == {"0000:20:01.0/00.0": "baremetal"}
    assert json.loads(text)["findings"][0]["waiver"] == {
        "reason": "known",
        "ticket": None,
        "expires": "2027-01-31",
    }


@pytest.mark.parametrize(
    ("key", "value"), [("exit", "3"), ("mode", "vms"), ("schema", 2), ("extra", None)]
)
def test_what_is_no_document_is_not_valid(tmp_path: Path, key: str, value: object) -> None:
    text = json.dumps({**json.loads(encoded(audited(one_switch(tmp_path)))), key: value})

    assert len(broken(text)) == 1
