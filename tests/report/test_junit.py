"""A JUnit file as junitparser reads it, and by the rules that readers agree on."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml, TestCase, TestSuite
from report.outcomes import audited
from trees.fabrics import two_switches
from trees.machines import one_switch

from pcietune.errors import BadInputError
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.profile import ModeName
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity
from pcietune.report.junit import junit
from pcietune.report.outcome import Outcome

WAIVER = Waiver("nic.ats", None, "the NIC is being replaced", "OPS-17", date(2026, 12, 31))
ATTRIBUTES = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""What of each element Jenkins, GitLab and junitparser read alike."""


def read(outcome: Outcome) -> TestSuite:
    """Return the one suite as another program reads it, its counts as they are written."""
    (suite,) = JUnitXml.fromstring(junit(outcome))
    assert isinstance(suite, TestSuite)
    return suite


def parsed(outcome: Outcome) -> ET.Element:
    return ET.fromstring(junit(outcome))


def having(root: Path, *made: Finding) -> Outcome:
    """Return a run whose audit found just this."""
    outcome = audited(one_switch(root))
    assert outcome.audit
    outcome.audit = replace(outcome.audit, findings=made)
    return outcome


def made(
    state: State, severity: Severity = Severity.ERROR, *, waiver: Waiver | None = None
) -> Finding:
    return Finding(
        "nic.ats",
        Subject("dmar0"),
        severity,
        state,
        Value("Enable-"),
        Value("Enable+"),
        "it is off",
        Remedy(RemedyKind.FIRMWARE, "mlxconfig ATS_ENABLED=true"),
        waiver=waiver,
    )


def only_case(outcome: Outcome) -> TestCase:
    (case,) = read(outcome)
    assert isinstance(case, TestCase)
    return case


@pytest.mark.parametrize(
    ("finding", "tags"),
    [
        (made(State.PASS), []),
        (made(State.FAIL), ["failure"]),
        (made(State.FAIL, Severity.WARNING), ["failure"]),
        (made(State.FAIL, Severity.INFO), ["system-out"]),
        (made(State.ERROR), ["error"]),
        (made(State.ERROR, Severity.INFO), ["system-out"]),
        (made(State.PENDING), ["system-out"]),
        (made(State.SKIP), ["skipped"]),
        (made(State.SKIP, waiver=WAIVER), ["skipped"]),
        (made(State.NOT_APPLICABLE), ["skipped"]),
    ],
    ids=lambda value: f"{value.state} {value.severity}" if isinstance(value, Finding) else "",
)
def test_a_state_has_its_element(tmp_path: Path, finding: Finding, tags: list[str]) -> None:
    suite = parsed(having(tmp_path, finding))

    (case,) = suite.iter("testcase")
    assert [child.tag for child in case] == tags


def test_pending_is_a_failure_where_it_counts(tmp_path: Path) -> None:
    outcome = having(tmp_path, made(State.PENDING))
    outcome.strict = True

    assert read(outcome).failures == 1


def test_a_case_is_named_after_its_finding_and_tells_all_of_it(tmp_path: Path) -> None:
    case = only_case(having(tmp_path, made(State.FAIL)))

    assert (case.classname, case.name) == ("nic.ats", "dmar0")
    (failure,) = case.result
    assert (failure.message, failure.type) == ("it is off", "error")
    assert failure.text == (
        "it is off\nfound Enable-, wanted Enable+\nfirmware: mlxconfig ATS_ENABLED=true"
    )


def test_a_waived_case_says_until_when_and_why(tmp_path: Path) -> None:
    (skipped,) = only_case(having(tmp_path, made(State.SKIP, waiver=WAIVER))).result

    assert skipped.message == "waived until 2026-12-31, OPS-17: the NIC is being replaced"


def test_the_suite_counts_its_cases_and_says_what_was_judged_by_what(tmp_path: Path) -> None:
    outcome = having(
        tmp_path, made(State.FAIL), made(State.ERROR), made(State.PASS), made(State.SKIP)
    )
    outcome.group_modes = {"0000:20:01.0/00.0": ModeName.BAREMETAL}

    suite = read(outcome)

    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)
    properties = parsed(outcome).iter("property")
    assert {each.get("name"): each.get("value") for each in properties} == {
        "vendor": "Example Systems",
        "product": "GPU Server 8",
        "kernel": "6.12.0-amd64",
        "profile": "tested",
        "sha256": "00" * 32,
        "mode": "vm",
        "mode of 0000:20:01.0/00.0": "baremetal",
    }


def test_a_run_that_ended_early_is_an_error_of_its_own() -> None:
    outcome = Outcome(errors=[BadInputError("no mode is set", hint="add --mode vm")])

    suite = read(outcome)

    assert (suite.tests, suite.errors) == (1, 1)
    (error,) = only_case(outcome).result
    assert (error.message, error.text) == ("no mode is set", "no mode is set\ntry: add --mode vm")


def test_only_what_all_readers_know_is_written(tmp_path: Path) -> None:
    suite = parsed(audited(two_switches(tmp_path)))

    assert suite.tag == "testsuite"
    for element in suite.iter():
        assert element.attrib.keys() <= ATTRIBUTES[element.tag]
    for case in suite.iter("testcase"):
        assert len(case) <= 1


def test_no_two_cases_have_the_same_name(tmp_path: Path) -> None:
    cases = [
        (case.get("classname"), case.get("name"))
        for case in parsed(audited(two_switches(tmp_path))).iter("testcase")
    ]

    assert len(cases) > 50
    assert len(set(cases)) == len(cases)


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\ud800", "\ufffe", "<&\"'>", "é"])
def test_no_character_breaks_the_file(tmp_path: Path, character: str) -> None:
    finding = replace(made(State.FAIL), reason=f"a{character}b", subject=Subject(f"c{character}d"))

    case = only_case(having(tmp_path, finding))

    shown = character if character.isprintable() or character == "\x7f" else ascii(character)[1:-1]
    assert case.name == f"c{shown}d"
    assert case.result[0].message == f"a{shown}b"


def test_two_runs_differ_in_nothing(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)

    assert junit(audited(tree)) == junit(audited(tree))
