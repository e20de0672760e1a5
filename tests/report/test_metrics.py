"""The metrics as Prometheus' own parser reads them."""

from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from report.outcomes import audited
from trees.fabrics import two_switches
from trees.machines import one_switch
from tune.judged import NIC_PORT

from pcietune.errors import BadInputError
from pcietune.model.boot_guard import BootGuard
from pcietune.model.finding import Finding, State, Subject, Value
from pcietune.model.severity import Severity
from pcietune.report.metrics import metrics
from pcietune.report.outcome import Outcome

NOW = 1764636000.25
EARLIER = 1764630000.5
SUCCESS = "pcietune_last_success_timestamp_seconds"
RUN = "pcietune_last_run_timestamp_seconds"
ENDED_EARLY = Outcome(errors=[BadInputError("no mode is set")])


def written(outcome: Outcome, *, now: float = NOW, earlier: str | None = None) -> str:
    return metrics(outcome, now_s=now, earlier=earlier).decode()


def families(outcome: Outcome, *, earlier: str | None = None) -> dict[str, Metric]:
    text = written(outcome, earlier=earlier)
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(outcome: Outcome, name: str, *, earlier: str | None = None) -> float:
    (sample,) = families(outcome, earlier=earlier)[name].samples
    assert sample.labels == {}
    return sample.value


def having(root: Path, *made: Finding) -> Outcome:
    outcome = audited(one_switch(root))
    assert outcome.audit
    outcome.audit = replace(outcome.audit, findings=made)
    return outcome


def made(state: State, subject: str = "dmar0") -> Finding:
    found, wanted = Value("Enable-"), Value("Enable+")
    return Finding("nic.ats", Subject(subject), Severity.ERROR, state, found, wanted, "it is off")


def test_an_audit_says_when_it_ran_and_how_it_ended(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))

    assert value(outcome, RUN) == NOW
    assert value(outcome, SUCCESS) == NOW
    assert value(outcome, "pcietune_exit_code") == 3


def test_a_run_that_ended_early_keeps_the_last_success(tmp_path: Path) -> None:
    before = written(audited(one_switch(tmp_path)), now=EARLIER)

    assert value(ENDED_EARLY, RUN, earlier=before) == NOW
    assert value(ENDED_EARLY, SUCCESS, earlier=before) == EARLIER
    assert value(ENDED_EARLY, "pcietune_exit_code", earlier=before) == 4
    again = written(ENDED_EARLY, earlier=before)
    assert value(ENDED_EARLY, SUCCESS, earlier=again) == EARLIER


def test_a_host_of_which_something_was_not_read_is_no_success(tmp_path: Path) -> None:
    unread = having(tmp_path, made(State.FAIL), made(State.ERROR))

    assert unread.exit_code() == 3
    assert SUCCESS not in families(unread)


@pytest.mark.parametrize(
    "earlier",
    [None, "", "nonsense\n", f"{SUCCESS} NaN\n", f"{SUCCESS} \n", f"{SUCCESS} {'9' * 400}\n"],
)
def test_without_an_earlier_success_none_is_claimed(earlier: str | None) -> None:
    assert SUCCESS not in families(ENDED_EARLY, earlier=earlier)


def test_the_policy_is_named_with_its_hash(tmp_path: Path) -> None:
    (sample,) = families(audited(one_switch(tmp_path)))["pcietune_policy_info"].samples

    assert sample.value == 1
    assert sample.labels == {
        "profile": "tested",
        "sha256": "00" * 32,
        "mode": "vm",
        "enforce": "audit",
    }


def test_findings_are_counted_by_id_state_and_severity(tmp_path: Path) -> None:
    outcome = having(tmp_path, made(State.PASS), made(State.FAIL), made(State.FAIL, "dmar1"))

    counted = families(outcome)["pcietune_findings"].samples

    assert {sample.labels["state"]: sample.value for sample in counted} == {"pass": 1, "fail": 2}
    assert {(sample.labels["id"], sample.labels["severity"]) for sample in counted} == {
        ("nic.ats", "error")
    }


def test_only_what_fails_or_was_not_read_has_an_address(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    assert outcome.audit

    failed = families(outcome)["pcietune_finding_failed"].samples

    told = {(sample.labels["id"], sample.labels["location"]) for sample in failed}
    assert told == {
        (finding.id, finding.subject.path)
        for finding in outcome.audit.findings
        if finding.state in (State.FAIL, State.ERROR)
    }
    direct = next(s for s in failed if s.labels["id"] == "port.nic-side.DirectTrans")
    assert direct.labels["address"] == NIC_PORT
    assert direct.labels["location"] == "0000:20:01.0/00.0/04.0"
    assert [
        family.name for family in families(outcome).values() if NIC_PORT in str(family.samples)
    ] == ["pcietune_finding_failed"]


def test_a_host_as_wanted_has_no_failed_finding(tmp_path: Path) -> None:
    outcome = having(tmp_path, made(State.PASS))

    assert "pcietune_finding_failed" not in families(outcome)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\\", "é", "\udcff", "\x1b[0m", "{a=}"])
def test_no_name_breaks_the_file(tmp_path: Path, name: str) -> None:
    (sample,) = families(having(tmp_path, made(State.FAIL, name)))[
        "pcietune_finding_failed"
    ].samples

    shown = name if name.isprintable() else ascii(name)[1:-1]
    assert sample.labels["location"] == shown


def test_no_series_is_told_twice_and_none_has_a_time(tmp_path: Path) -> None:
    samples = [
        sample
        for family in families(audited(two_switches(tmp_path))).values()
        for sample in family.samples
    ]

    series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples]
    assert len(samples) > 20
    assert len(set(series)) == len(series)
    assert {sample.timestamp for sample in samples} == {None}


def test_the_guard_and_the_off_switch_are_told() -> None:
    outcome = Outcome(guard=BootGuard(2), disabled="/etc/pcietune/disabled exists")

    assert value(outcome, "pcietune_failed_boots") == 2
    assert value(outcome, "pcietune_disabled") == 1
    assert "pcietune_failed_boots" not in families(Outcome(guard=BootGuard(None)))
