"""What the journal gets of an audit."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from report.outcomes import audited
from trees.machines import one_switch
from tune.judged import NIC_PORT

from pcietune.errors import BadInputError
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.severity import Severity
from pcietune.report.journal import AUDITED, ENDED_EARLY, FINDING, journal_entries
from pcietune.report.outcome import Outcome

DIRECT = "port.nic-side.DirectTrans"


def having(root: Path, *made: Finding) -> Outcome:
    outcome = audited(one_switch(root))
    assert outcome.audit
    outcome.audit = replace(outcome.audit, findings=made)
    return outcome


def made(state: State, severity: Severity = Severity.ERROR) -> Finding:
    found, wanted = Value("Enable-"), Value("Enable+")
    remedy = Remedy(RemedyKind.FIRMWARE, "mlxconfig ATS_ENABLED=true")
    return Finding("nic.ats", Subject("dmar0"), severity, state, found, wanted, "it is off", remedy)


def findings(outcome: Outcome) -> list[dict[str, str]]:
    return [entry for entry in journal_entries(outcome) if entry["MESSAGE_ID"] == FINDING]


def test_a_failing_finding_is_an_entry_with_all_that_alerts_need(tmp_path: Path) -> None:
    (entry,) = (
        entry
        for entry in findings(audited(one_switch(tmp_path)))
        if entry["PCIETUNE_FINDING"] == DIRECT
    )

    assert entry["PRIORITY"] == "3"  # LOG_ERR
    assert entry["SYSLOG_IDENTIFIER"] == "pcietune"
    assert entry["PCIETUNE_STATE"] == "fail"
    assert entry["PCIETUNE_ADDRESS"] == NIC_PORT
    assert entry["PCIETUNE_LOCATION"] == "0000:20:01.0/00.0/04.0"
    assert entry["PCIETUNE_WANTED"] == "DirectTrans+"
    assert entry["PCIETUNE_PROFILE"] == "tested"
    assert entry["PCIETUNE_MODE"] == "vm"
    assert entry["PCIETUNE_REMEDY"].startswith("register: pcietune apply")
    assert "\n" not in entry["MESSAGE"]
    assert NIC_PORT in entry["MESSAGE"]


def test_what_is_no_function_has_no_address(tmp_path: Path) -> None:
    (entry,) = findings(having(tmp_path, made(State.FAIL)))

    assert "PCIETUNE_ADDRESS" not in entry
    assert entry["PCIETUNE_LOCATION"] == "dmar0"
    assert entry["MESSAGE"] == ("nic.ats fail: dmar0: it is off (found Enable-, wanted Enable+)")


@pytest.mark.parametrize(
    ("severity", "priority"),
    [(Severity.ERROR, "3"), (Severity.WARNING, "4"), (Severity.INFO, "6")],
)
def test_the_priority_is_that_of_syslog(tmp_path: Path, severity: Severity, priority: str) -> None:
    (entry,) = findings(having(tmp_path, made(State.FAIL, severity)))

    assert entry["PRIORITY"] == priority


@pytest.mark.parametrize("state", [state for state in State if state not in {"fail", "error"}])
def test_what_does_not_fail_is_no_entry(tmp_path: Path, state: State) -> None:
    assert findings(having(tmp_path, made(state))) == []


def test_what_could_not_be_read_is_an_entry(tmp_path: Path) -> None:
    (entry,) = findings(having(tmp_path, made(State.ERROR)))

    assert entry["PCIETUNE_STATE"] == "error"


def test_pending_is_an_entry_where_it_counts(tmp_path: Path) -> None:
    outcome = having(tmp_path, made(State.PENDING))
    outcome.strict = True

    assert len(findings(outcome)) == 1


def test_the_last_entry_says_how_the_audit_ended(tmp_path: Path) -> None:
    *_, last = journal_entries(having(tmp_path, made(State.PASS), made(State.FAIL)))

    assert last["MESSAGE_ID"] == AUDITED
    assert last["PCIETUNE_EXIT"] == "3"
    assert last["MESSAGE"].startswith("audit ended with exit code 3: 1 switch group, 2 findings: ")


def test_a_run_that_ended_early_says_why() -> None:
    outcome = Outcome(errors=[BadInputError("no mode is set", hint="add --mode vm")])

    first, last = journal_entries(outcome)

    assert first["MESSAGE_ID"] == ENDED_EARLY
    assert (first["MESSAGE"], first["PRIORITY"]) == ("no mode is set (try: add --mode vm)", "3")
    assert (last["PCIETUNE_EXIT"], last["MESSAGE"]) == (
        "4",
        "audit ended with exit code 4: not judged",
    )


def test_a_host_without_gpus_is_no_host_that_could_not_be_judged() -> None:
    (last,) = journal_entries(Outcome(nothing_here=True))

    assert last["MESSAGE"] == "audit ended with exit code 0: there is no GPU on this host"


def test_every_field_has_a_name_that_the_journal_takes(tmp_path: Path) -> None:
    # systemd.journal-fields(7): upper case, no leading underscore
    names = {name for entry in journal_entries(audited(one_switch(tmp_path))) for name in entry}

    assert all(re.fullmatch("[A-Z][A-Z0-9_]{0,63}", name) for name in names)


def test_message_ids_are_128_bits_and_differ() -> None:
    assert len({FINDING, ENDED_EARLY, AUDITED}) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in (FINDING, ENDED_EARLY, AUDITED))
